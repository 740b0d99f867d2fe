"""Python frames of libraries that compile, lock files, talk to services, keep pools, or ask a person."""

from __future__ import annotations

TABLE = """
triton/compiler/compiler.py
    compile: *
triton/runtime/autotuner.py
    compile: *
triton/runtime/build.py
    compile: *
cutlass/base_dsl/dsl.py
    compile: *
numba/core/compiler.py
    compile: *
filelock/_api.py
    file-lock: acquire
filelock/_unix.py
    file-lock: *
filelock/_core/_acquire.py
    file-lock: acquire _acquire_level _poll_until_acquired
filelock/_native/_unix.py
    file-lock: *
filelock/_native/_descriptor.py
    file-lock: *
filelock/_soft/_read_write/_lock.py
    file-lock: _wait_for
filelock.py
    file-lock: acquire
datasets/utils/filelock.py
    file-lock: acquire
portalocker/utils.py
    file-lock: acquire
fasteners/process_lock.py
    file-lock: acquire
oslo_concurrency/lockutils.py
    file-lock: *
loky/process_executor.py
    idle: _process_worker wait_result_broken_or_wakeup
    child: shutdown join_executor_internals
    exit: _python_exit
joblib/parallel.py
    condition: retrieve _retrieve _get_outputs get_result
gunicorn/arbiter.py
    idle: sleep wait_for_signals run
gunicorn/workers/sync.py
    idle: wait run_for_one run_for_multiple
gunicorn/workers/gthread.py
    idle: run
uvicorn/server.py
    idle: run serve main_loop
hypercorn/asyncio/run.py
    idle: _run worker_serve
waitress/server.py
    idle: run
waitress/task.py
    idle: handler_thread
werkzeug/serving.py
    idle: serve_forever run_simple
cheroot/server.py
    idle: serve
tornado/platform/asyncio.py
    idle: start run_forever
tornado/ioloop.py
    idle: start
ipykernel/kernelapp.py
    idle: start
zmq/eventloop/ioloop.py
    idle: start
zmq/sugar/__init__.py
    idle: device proxy
zmq/auth/thread.py
    idle: run
celery/worker/loops.py
    idle: synloop asynloop _loop_cycle
billiard/pool.py
    idle: workloop _make_recv_method body wait_for_job _process_result
kombu/asynchronous/hub.py
    idle: run_forever create_loop
anyio/_backends/_asyncio.py
    idle: run
apscheduler/schedulers/blocking.py
    idle: _main_loop
watchdog/observers/api.py
    idle: run
twisted/internet/base.py
    idle: mainLoop run
distributed/cli/dask_worker.py
    idle: main run
distributed/threadpoolexecutor.py
    idle: _worker
rq/worker.py
    idle: dequeue_job_and_maintain_ttl
distributed/utils.py
    condition: sync run_sync
fsspec/asyn.py
    condition: sync wrapper
asgiref/sync.py
    condition: main_wrap
wandb/sdk/lib/mailbox.py
    condition: wait wait_all get_result
wandb/sdk/wandb_run.py
    exit: finish _finish _on_finish _atexit_cleanup
wandb/sdk/wandb_setup.py
    exit: teardown _teardown
datasets/utils/py_utils.py
    condition: iflatmap_unordered
pebble/pool/channel.py
    lock: acquire lock
    pipe: recv send poll
uvloop/loop.pyx
    idle: *
urllib3/connectionpool.py
    socket: urlopen _make_request
requests/sessions.py
    socket: send request
ddtrace/profiling/collector/_lock.py
    lock: _acquire __enter__ acquire
gevent/thread.py
    lock: acquire __enter__
eventlet/semaphore.py
    lock: acquire __enter__
fasteners/lock.py
    lock: acquire_read_lock acquire_write_lock read_lock write_lock
readerwriterlock/rwlock.py
    lock: acquire
tqdm/std.py
    lock: acquire __enter__
tqdm/_tqdm.py
    lock: acquire __enter__
h5py/_objects.pyx
    lock: __enter__
grpc/_channel.py
    socket: _blocking _next result _consume_request_iterator
botocore/httpsession.py
    socket: send
zmq/sugar/socket.py
    socket: recv_multipart recv_pyobj send_multipart poll
ipdb/__main__.py
    input: *
IPython/terminal/debugger.py
    input: *
IPython/terminal/embed.py
    input: *
IPython/frontend/terminal/embed.py
    input: *
IPython/terminal/interactiveshell.py
    input: mainloop interact prompt_for_code
ptpython/repl.py
    input: *
ptpython/ipython.py
    input: *
bpython/embed.py
    input: *
konch.py
    input: start
rpdb/__init__.py
    input: *
remote_pdb.py
    input: *
web_pdb/__init__.py
    input: *
celery/contrib/rdb.py
    input: *
ray/util/rpdb.py
    input: *
torch/distributed/_tools/pdb.py
    input: *
madbg/debugger.py
    input: *
click/termui.py
    input: prompt confirm hidden_prompt_func visible_prompt_func
inquirer/__init__.py
    input: *
questionary/question.py
    input: *
rich/prompt.py
    input: *
ipykernel/kernelbase.py
    input: _input_request
pudb/debugger.py
    input: *
prompt_toolkit/shortcuts/prompt.py
    input: prompt
pydevd.py
    input: do_wait_suspend _do_wait_suspend
debugpy/server/api.py
    input: wait_for_client listen
debugpy/public_api.py
    input: wait_for_client
ptvsd/attach_server.py
    input: wait_for_attach
tqdm/_monitor.py
    idle: run
"""
