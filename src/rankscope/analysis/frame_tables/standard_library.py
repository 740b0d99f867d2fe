"""Python frames of the standard library, and of the builtins."""

from __future__ import annotations

from .kinds import WaitKind

TABLE = """
threading.py
    collective: Barrier.wait Barrier._wait _wait
    condition: wait wait_for
    lock: acquire __enter__
    child: join _wait_for_tstate_lock start
    exit: _shutdown
queue.py
    queue: get put join
multiprocessing/queues.py
    queue: get put _feed join
    child: join_thread _finalize_join
multiprocessing/connection.py
    pipe: recv recv_bytes recv_bytes_into send send_bytes poll _poll _recv _recv_bytes _send _send_bytes wait
        accept
    socket: SocketClient answer_challenge deliver_challenge
multiprocessing/synchronize.py
    lock: __enter__ acquire
    condition: wait wait_for
multiprocessing/process.py
    child: join
multiprocessing/popen_fork.py
    child: wait poll
multiprocessing/popen_spawn_posix.py
    child: wait poll
multiprocessing/popen_forkserver.py
    child: wait poll
multiprocessing/pool.py
    condition: get wait map starmap apply next
    child: join _terminate_pool _help_stuff_finish
    idle: workloop _do_recv worker _handle_workers _handle_tasks _handle_results _wait_for_updates
multiprocessing/util.py
    exit: _exit_function _run_finalizers _flush_std_streams
multiprocessing/managers.py
    socket: _callmethod
multiprocessing/resource_sharer.py
    pipe: detach
    idle: _serve
multiprocessing/resource_tracker.py
    idle: main
multiprocessing/forkserver.py
    idle: main
    pipe: connect_to_new_process ensure_running
concurrent/futures/_base.py
    condition: result wait exception as_completed result_iterator
concurrent/futures/thread.py
    idle: _worker
    exit: _python_exit
    child: shutdown
concurrent/futures/process.py
    idle: wait_result_broken_or_wakeup _process_worker
    exit: _python_exit
    child: shutdown join_executor_internals
subprocess.py
    child: wait _wait _try_wait communicate _communicate call run check_output check_call
os.py
    child: _spawnvef
selectors.py
    socket: select
socketserver.py
    idle: serve_forever
asyncio/base_events.py
    idle: _run_once run_forever
asyncio/runners.py
    exit: _cancel_all_tasks
asyncio/locks.py
    lock: acquire __aenter__
    condition: wait wait_for
asyncio/queues.py
    queue: get put join
asyncio/tasks.py
    sleep: sleep
    condition: wait_for wait
asyncio/streams.py
    socket: read readline readuntil readexactly drain
socket.py
    socket: readinto accept connect create_connection getaddrinfo recv
ssl.py
    socket: read recv recv_into do_handshake write sendall
http/client.py
    socket: getresponse begin _read_status read readinto _safe_read connect
importlib/_bootstrap.py
    import-lock: acquire _lock_unlock_module
logging/__init__.py
    lock: acquire _acquireLock
pdb.py
    input: *
bdb.py
    input: interaction
cmd.py
    input: cmdloop
code.py
    input: interact raw_input
getpass.py
    input: *
"""

# Builtins that some readers show as a frame of their own, whatever the file.
BUILTINS: dict[str, WaitKind] = {
    "time.sleep": WaitKind.SLEEP, "sleep": WaitKind.SLEEP, "builtins.input": WaitKind.INPUT, "input": WaitKind.INPUT,
    "Waiting for the GIL": WaitKind.GIL,
    "builtin_input": WaitKind.INPUT, "select.poll": WaitKind.SOCKET, "select.select": WaitKind.SOCKET,
    "waitpid": WaitKind.CHILD, "flock": WaitKind.FILE_LOCK,
}  # fmt: skip
