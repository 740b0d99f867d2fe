"""What a frame waits for, looked up: Python by (file, function), native code by function name.

A file is matched as a suffix of whole path components, so that a shortened or a full path both fit.
"""

from __future__ import annotations

import enum
import re


class Kind(str, enum.Enum):
    """What a thread is waiting for or busy with."""

    COLLECTIVE = "collective"  # a collective of a process group
    P2P = "p2p"  # a send or receive between two ranks
    STORE = "store"  # the key-value store of the job
    RENDEZVOUS = "rendezvous"  # joining the job or a new group
    DATA = "data"  # the next batch of a loader
    QUEUE = "queue"  # an item of a queue, or room in one
    LOCK = "lock"  # a mutex
    CONDITION = "condition"  # a condition, event, semaphore or future
    CHILD = "child"  # the end of a process or thread
    PIPE = "pipe"  # a pipe or a connection between processes
    SOCKET = "socket"  # a network peer
    DEVICE = "device"  # work on the GPU
    STORAGE = "storage"  # a file system
    GIL = "gil"  # the interpreter lock
    IMPORT_LOCK = "import-lock"  # a module that another thread imports
    FILE_LOCK = "file-lock"  # an advisory lock on a file
    FILE_BATON = "file-baton"  # a lock file that its builder deletes
    SLEEP = "sleep"  # the clock
    INPUT = "input"  # a person: input() or a debugger prompt
    COMPILE = "compile"  # a compiler or its helper process
    CHECKPOINT = "checkpoint"  # writing or reading a checkpoint
    EXIT = "exit"  # the end of the program
    BACKWARD = "backward"  # autograd, in which gradient collectives may run
    IDLE = "idle"  # a helper thread without work
    USER = "user"  # running code of the job itself
    LIBRARY = "library"  # running code of a library
    UNKNOWN = "unknown"  # no frames


# The more a kind says, the higher; an outer library frame outranks an inner one that says less.
STRENGTH = {
    Kind.SLEEP: 1, Kind.LOCK: 1, Kind.CONDITION: 1, Kind.SOCKET: 1, Kind.PIPE: 1, Kind.STORAGE: 1,
    Kind.QUEUE: 2, Kind.CHILD: 3, Kind.STORE: 3, Kind.BACKWARD: 3, Kind.CHECKPOINT: 2, Kind.IDLE: 3,
    Kind.DATA: 4, Kind.RENDEZVOUS: 4, Kind.COMPILE: 4, Kind.DEVICE: 4,
    Kind.COLLECTIVE: 5, Kind.P2P: 5, Kind.FILE_BATON: 5, Kind.FILE_LOCK: 5, Kind.IMPORT_LOCK: 5, Kind.INPUT: 5,
    Kind.EXIT: 5, Kind.GIL: 6,
}  # fmt: skip

_COLLECTIVES = """
    all_reduce all_reduce_coalesced all_gather all_gather_into_tensor all_gather_object all_gather_coalesced
    _all_gather_base all_to_all all_to_all_single broadcast broadcast_object_list gather gather_object reduce
    reduce_scatter reduce_scatter_tensor _reduce_scatter_base reduce_multigpu scatter scatter_object_list
    barrier monitored_barrier broadcast_coalesced _broadcast_coalesced broadcast_multigpu allreduce allgather
    alltoall all_gather_list
"""
_P2P_OPS = "send recv isend irecv batch_isend_irecv send_object_list recv_object_list sendrecv Sendrecv Send Recv"
COLLECTIVES, P2P_OPS = tuple(_COLLECTIVES.split()), tuple(_P2P_OPS.split())

# A file, then for each kind its functions; "*" stands for every function of the file.
_PYTHON = """
torch/distributed/distributed_c10d.py
    collective: @collectives _object_to_tensor_wait wait
    p2p: @p2p
    rendezvous: init_process_group new_group new_subgroups new_subgroups_by_enumeration
        _new_process_group_helper _new_group_with_tag _store_based_barrier split_group _world_is_ready
    exit: destroy_process_group _shutdown_backend _abort_process_group
torch/distributed/rendezvous.py
    rendezvous: *
torch/distributed/device_mesh.py
    rendezvous: init_device_mesh _init_process_groups __init__
torch/distributed/_functional_collectives.py
    collective: @collectives wait_tensor all_gather_tensor wait
torch/distributed/nn/functional.py
    collective: @collectives
torch/distributed/utils.py
    collective: _sync_module_states _sync_params_and_buffers _verify_param_shape_across_processes
torch/nn/parallel/distributed.py
    collective: _sync_buffers _sync_module_buffers _default_broadcast_coalesced _distributed_broadcast_coalesced
        _pre_forward
torch/nn/parallel/comm.py
    collective: broadcast broadcast_coalesced reduce_add reduce_add_coalesced gather scatter
torch/distributed/_state_dict_utils.py
    collective: _gather_state_dict _broadcast_tensors _broadcast_state_dict _distribute_tensors _distribute_state_dict
torch/distributed/checkpoint/utils.py
    collective: @collectives broadcast_object scatter_object
torch/distributed/fsdp/_flat_param.py
    collective: _all_gather_flat_param
torch/distributed/fsdp/flat_param.py
    collective: _all_gather_flat_param
torch/distributed/fsdp/_runtime_utils.py
    collective: _reduce_grad
torch/distributed/fsdp/_optim_utils.py
    collective: _all_gather_optim_state _allgather_state_info _communicate_optim_state _allgather_orig_param_states
torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py
    collective: foreach_all_gather foreach_reduce foreach_all_gather_copy_out
torch/distributed/_composable/fsdp/_fsdp_collectives.py
    collective: foreach_all_gather foreach_reduce foreach_all_gather_copy_out
torch/distributed/tensor/_collective_utils.py
    collective: mesh_broadcast mesh_scatter
torch_xla/core/xla_model.py
    collective: rendezvous all_reduce all_gather all_to_all reduce_scatter mesh_reduce reduce_gradients
torch/distributed/_symmetric_memory/__init__.py
    rendezvous: rendezvous
    collective: barrier
torch/distributed/algorithms/join.py
    collective: __exit__ notify_join_context
torch/distributed/pipelining/schedules.py
    p2p: _batch_p2p _sorted_batch_p2p _wait_batch_p2p
torch/distributed/pipelining/stage.py
    p2p: _prepare_forward_infra _shape_inference
torch/distributed/elastic/utils/store.py
    store: *
torch/distributed/elastic/rendezvous/dynamic_rendezvous.py
    rendezvous: *
torch/distributed/elastic/rendezvous/static_tcp_rendezvous.py
    rendezvous: *
torch/distributed/elastic/rendezvous/c10d_rendezvous_backend.py
    rendezvous: *
torch/distributed/elastic/agent/server/api.py
    child: _invoke_run run _monitor_workers
    rendezvous: _rendezvous
    store: _exit_barrier
torch/distributed/elastic/multiprocessing/api.py
    child: wait join _poll
torch/distributed/checkpoint/state_dict_saver.py
    checkpoint: *
torch/distributed/checkpoint/state_dict_loader.py
    checkpoint: *
torch/distributed/checkpoint/filesystem.py
    checkpoint: *
torch/distributed/checkpoint/_async_process_executor.py
    checkpoint: *
torch/distributed/rpc/api.py
    exit: shutdown _wait_all_workers _all_gather
    socket: rpc_sync remote rpc_async
    rendezvous: _init_rpc_backend
torch/serialization.py
    checkpoint: save load _save _load _legacy_save _legacy_load persistent_load load_tensor
torch/multiprocessing/spawn.py
    child: join
torch/utils/data/dataloader.py
    data: _try_get_data _get_data _next_data __next__ _reset __init__
    exit: _shutdown_workers __del__
torch/utils/data/_utils/pin_memory.py
    idle: _pin_memory_loop do_one_step
torch/utils/data/_utils/worker.py
    idle: _worker_loop
torch/utils/file_baton.py
    file-baton: wait try_acquire
torch/utils/cpp_extension.py
    compile: _run_ninja_build _write_ninja_file_and_build_library _compile_cpp
torch/cuda/__init__.py
    device: synchronize _lazy_init
torch/cuda/streams.py
    device: synchronize wait
torch/cuda/memory.py
    device: empty_cache
torch/autograd/__init__.py
    backward: backward grad
torch/autograd/graph.py
    backward: _engine_run_backward
torch/_tensor.py
    backward: backward
torch/_inductor/async_compile.py
    compile: *
torch/_inductor/compile_worker/subproc_pool.py
    compile: *
torch/_inductor/compile_worker/__main__.py
    compile: main
torch/_inductor/codecache.py
    compile: *
torch/_inductor/compile_fx.py
    compile: *
torch/_dynamo/convert_frame.py
    compile: *
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
horovod/torch/mpi_ops.py
    collective: *
horovod/common/basics.py
    rendezvous: init
    exit: shutdown
mpi4py/MPI.pyx
    collective: Allreduce allreduce Allgather allgather Allgatherv Alltoall alltoall Alltoallv Barrier barrier
        Bcast bcast Gather gather Gatherv Reduce reduce Scatter scatter Scatterv Scan scan
    p2p: Send Recv send recv Sendrecv Probe Wait Waitall
    rendezvous: Split Create Dup
deepspeed/comm/comm.py
    collective: @collectives
    p2p: @p2p
    rendezvous: init_distributed new_group
deepspeed/comm/torch.py
    collective: @collectives
    p2p: @p2p
    rendezvous: init_process_group __init__ new_group
deepspeed/runtime/pipe/p2p.py
    p2p: *
deepspeed/runtime/zero/stage3.py
    collective: __reduce_and_partition_ipg_grads __avg_scatter_grads
deepspeed/runtime/zero/stage_1_and_2.py
    collective: allreduce_bucket average_tensor allreduce_and_scatter
deepspeed/runtime/zero/partition_parameters.py
    collective: all_gather_coalesced _all_gather_dtype _allgather_params _allgather_params_coalesced _dist_allgather_fn
        _partition_gradient
deepspeed/runtime/zero/partitioned_param_coordinator.py
    collective: __all_gather_params __all_gather_params_
deepspeed/runtime/comm/coalesced_collectives.py
    collective: *
megatron/core/tensor_parallel/mappings.py
    collective: _reduce _gather_along_last_dim _gather_along_first_dim _reduce_scatter_along_first_dim
megatron/core/distributed/param_and_grad_buffer.py
    collective: start_grad_sync finish_grad_sync start_param_sync finish_param_sync
megatron/core/distributed/finalize_model_grads.py
    collective: *
megatron/core/pipeline_parallel/p2p_communication.py
    p2p: *
megatron/p2p_communication.py
    p2p: *
vllm/distributed/parallel_state.py
    collective: @collectives broadcast_object broadcast_tensor_dict
    p2p: @p2p send_tensor_dict recv_tensor_dict send_object recv_object
    rendezvous: init_distributed_environment initialize_model_parallel init_model_parallel_group
vllm/distributed/device_communicators/shm_broadcast.py
    queue: acquire_read acquire_write dequeue enqueue wait_until_ready
vllm/distributed/device_communicators/pynccl.py
    collective: @collectives
    rendezvous: __init__
sglang/srt/distributed/parallel_state.py
    collective: @collectives broadcast_object
    p2p: @p2p
vllm/distributed/communication_op.py
    collective: *
sglang/srt/distributed/communication_op.py
    collective: *
sglang/srt/utils/common.py
    collective: broadcast_pyobj
sglang/srt/utils.py
    collective: broadcast_pyobj
tensorrt_llm/_torch/distributed/communicator.py
    collective: @collectives tp_allgather tp_gather tp_broadcast pp_allgather pp_broadcast cp_allgather cp_broadcast
    p2p: @p2p send_object recv_object isend_object
accelerate/state.py
    collective: wait_for_everyone _goes_first
accelerate/accelerator.py
    collective: wait_for_everyone
accelerate/utils/operations.py
    collective: _gpu_gather _gpu_gather_object _gpu_broadcast gather gather_object broadcast broadcast_object_list
        reduce
transformers/trainer_pt_utils.py
    collective: distributed_concat distributed_broadcast_scalars
torchmetrics/utilities/distributed.py
    collective: gather_all_tensors _simple_gather_all_tensors
lightning_fabric/utilities/distributed.py
    collective: _gather_all_tensors _sync_ddp _sync_ddp_if_available _all_gather_ddp_if_available
pytorch_lightning/utilities/distributed.py
    collective: gather_all_tensors sync_ddp sync_ddp_if_available all_gather_ddp_if_available
fairseq/distributed/utils.py
    collective: all_gather_list all_reduce all_reduce_dict broadcast_object broadcast_tensors
detectron2/utils/comm.py
    collective: synchronize gather all_gather reduce_dict
mmengine/dist/dist.py
    collective: @collectives all_reduce_dict all_reduce_params collect_results sync_random_seed
mmcv/runner/dist_utils.py
    collective: allreduce_params allreduce_grads
horovod/tensorflow/mpi_ops.py
    collective: *
jax/experimental/multihost_utils.py
    collective: sync_global_devices broadcast_one_to_all process_allgather assert_equal
jax/_src/distributed.py
    rendezvous: initialize
ray/_private/worker.py
    condition: get wait get_objects
    idle: main_loop
ray/util/collective/collective.py
    collective: @collectives
    p2p: @p2p
filelock/_api.py
    file-lock: acquire
filelock/_unix.py
    file-lock: *
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
loky/process_executor.py
    idle: _process_worker wait_result_broken_or_wakeup
    child: shutdown join_executor_internals
    exit: _python_exit
joblib/parallel.py
    condition: retrieve _retrieve _get_outputs get_result
gunicorn/arbiter.py
    idle: sleep wait_for_signals run
gunicorn/workers/sync.py
    idle: wait run_for_one
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
keras/utils/data_utils.py
    data: get
keras/src/trainers/data_adapters/py_dataset_adapter.py
    data: get
mxnet/gluon/data/dataloader.py
    data: __next__
paddle/io/dataloader/dataloader_iter.py
    data: __next__ _get_data
pebble/pool/channel.py
    lock: acquire lock
    pipe: recv send poll
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
uvloop/loop.pyx
    idle: *
socket.py
    socket: readinto accept connect create_connection getaddrinfo recv
ssl.py
    socket: read recv recv_into do_handshake write sendall
http/client.py
    socket: getresponse begin _read_status read readinto _safe_read connect
urllib3/connectionpool.py
    socket: urlopen _make_request
requests/sessions.py
    socket: send request
grpc/_channel.py
    socket: _blocking _next result _consume_request_iterator
botocore/httpsession.py
    socket: send
zmq/sugar/socket.py
    socket: recv_multipart recv_pyobj send_multipart poll
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
ipdb/__main__.py
    input: *
IPython/terminal/debugger.py
    input: *
pudb/debugger.py
    input: *
prompt_toolkit/shortcuts/prompt.py
    input: prompt
pydevd.py
    input: do_wait_suspend _do_wait_suspend
debugpy/server/api.py
    input: wait_for_client listen
torch/distributed/__init__.py
    input: breakpoint interaction
tqdm/_monitor.py
    idle: run
"""

# Builtins that some readers show as a frame of their own, whatever the file.
BUILTINS: dict[str, Kind] = {
    "time.sleep": Kind.SLEEP, "sleep": Kind.SLEEP, "builtins.input": Kind.INPUT, "input": Kind.INPUT,
    "Waiting for the GIL": Kind.GIL,
    "builtin_input": Kind.INPUT, "select.poll": Kind.SOCKET, "select.select": Kind.SOCKET,
}  # fmt: skip

# Native functions, without arguments, template parameters and symbol versions; a trailing "*" is a prefix.
_NATIVE = """
gil: take_gil PyEval_AcquireThread PyEval_RestoreThread PyEval_AcquireLock PyGILState_Ensure
    _PyThreadState_Attach pybind11::gil_scoped_acquire* pybind11::detail::gil_scoped_acquire* torch::PyGILGuard*
    nanobind::gil_scoped_acquire* __pyx_gilstate_ensure __Pyx_PyGILState_Ensure __Pyx_GilEnsure tstate_wait_attach
    pyo3::gil::GILGuard*
lock: __psynch_mutexwait _pthread_mutex_firstfit_lock_wait _pthread_mutex_firstfit_lock_slow __lll_lock_wait
    __lll_lock_wait_private __GI___lll_lock_wait ___pthread_mutex_lock __pthread_mutex_lock
    __GI___pthread_mutex_lock pthread_mutex_lock __pthread_mutex_lock_full __pthread_mutex_cond_lock
    futex_abstimed_wait std::mutex::lock std::lock_guard* std::unique_lock* SpinLockDelay
    AbslInternalSpinLockDelay* absl::base_internal::SpinLock* SpinLock::SlowLock base::internal::SpinLockDelay
    je_malloc_mutex_lock_slow malloc_mutex_lock_slow __kmp_lock_suspend_mx __kmp_acquire_bootstrap_lock
    __kmp_acquire_queuing_lock __kmp_acquire_ticket_lock PyThread_acquire_lock_timed PyThread_acquire_lock
    acquire_timed lock_PyThread_acquire_lock _enter_buffered_busy _PyMutex_LockTimed PyMutex_Lock
    _PyRWMutex_Lock pthread_rwlock_wrlock pthread_rwlock_rdlock __pthread_rwlock_wrlock __pthread_rwlock_rdlock
    absl::Mutex::Lock* absl::lts* parking_lot::raw_mutex* std::sys::sync::mutex* __tsan_mutex* arena_get2*
    _dl_add_to_namespace_list _os_unfair_lock_lock_slow os_unfair_lock_lock _dispatch_once_wait H5TS_mutex_lock
    QMutex::lock QBasicMutex::lockInternal QRecursiveMutex::lock nsync_mu_lock* gpr_mu_lock
    _IO_flockfile __flockfile flockfile boost::mutex::lock boost::unique_lock* boost::recursive_mutex::lock
    std::recursive_mutex::lock std::shared_mutex::lock* std::shared_timed_mutex::lock* std::__1::mutex::lock
    folly::SharedMutex* RtlEnterCriticalSection RtlpEnterCriticalSection* AcquireSRWLockExclusive
    spin_mutex::lock pthread_spin_lock ucs_spin_lock* _L_lock_* _PyParkingLot_Park parking_lot_core::parking_lot*
    rtld_lock_default_lock_recursive
condition: __psynch_cvwait _pthread_cond_wait pthread_cond_wait pthread_cond_timedwait __pthread_cond_wait ___pthread_cond_wait
    __pthread_cond_timedwait ___pthread_cond_timedwait pthread_cond_clockwait ___pthread_cond_clockwait64
    ___pthread_cond_timedwait64 __pthread_cond_wait_common futex_wait_cancelable __futex_abstimed_wait_common
    __futex_abstimed_wait_common64 __futex_abstimed_wait_cancelable64 std::condition_variable::wait* sem_wait
    sem_timedwait do_futex_wait __new_sem_wait_slow __new_sem_wait_slow64 std::__future_base* rayon_core::latch*
    rayon_core::registry::Registry::in_worker_cold std::thread::park gomp_team_barrier_wait_end
    gomp_barrier_wait_end do_wait gomp_simple_barrier_wait __kmp_hyper_barrier_release __kmp_fork_barrier
    __kmp_suspend_64 __kmp_suspend_template* __kmp_join_barrier __kmp_hyper_barrier_gather
    c10::ivalue::Future::wait* c10::ThreadPool* at::internal::invoke_parallel* at::parallel_for* GOMP_parallel
    __kmp_fork_call gpr_cv_wait nsync_cv_wait* absl::CondVar* _umtx_op __ulock_wait __ulock_wait2 sem_clockwait*
    std::__1::condition_variable* boost::condition_variable* Eigen::EventCount* crossbeam_channel::*
    tokio::runtime::park* tokio::park* std::sync::mpsc* NtWaitForAlertByThreadId NtWaitForSingleObject
    ZwWaitForSingleObject WaitForSingleObject* NtWaitForMultipleObjects SleepConditionVariable* exec_blas
    exec_blas_async_wait arrow::Future* gomp_barrier_wait gomp_team_end GOMP_parallel_end GOMP_barrier do_spin
    __kmp_wait_template* __kmp_wait_4* cv::parallel_for_*
child: waitpid __waitpid wait4 __wait4 __GI___wait4 waitid pthread_join __pthread_timedjoin_ex
    __pthread_clockjoin_ex std::thread::join pthread_timedjoin_np os_waitpid
sleep: nanosleep clock_nanosleep __clock_nanosleep clock_nanosleep@* usleep sleep time_sleep pysleep
    __GI___nanosleep __nanosleep
socket: accept accept4 connect __connect recv recvfrom recvmsg __libc_recv __recv send sendmsg __libc_send poll
    __poll __GI___poll ppoll select __select __GI___select epoll_wait epoll_pwait select_poll_poll
    select_epoll_poll select_select sock_recv sock_accept sock_recv_into internal_select getaddrinfo
    __res_context_send send_dg
storage: fsync __fsync fdatasync openat __openat open64 __open64 pread64 __pread64 pwrite64 fstat statx
    __xstat64 getdents64 io_getevents syncfs rename unlink
pipe: read __read __GI___read __libc_read write __write __GI___write __libc_write os_read os_write _Py_read
    _Py_write
file-lock: flock __flock fcntl_flock fcntl_lockf lockf
input: builtin_input PyOS_Readline readline_until_enter_or_signal call_readline my_fgets
store: c10d::TCPStore::* c10d::detail::TCPClient::* c10d::detail::Socket* c10d::PrefixStore::*
    c10d::FileStore::* c10d::Store::*
device: cuFreeHost cuMemFreeHost cuMemAllocHost* cuMemHostAlloc cuMemHostRegister* cudaMallocHost cudaFreeAsync
    cuKernelSetAttribute cuKernelGetFunction cuFuncSetAttribute cuFuncGetAttribute* cudaFuncGetAttributes
    cudaFuncSetAttribute cudaIpcCloseMemHandle cuIpcOpenMemHandle* cuGraphLaunch cudaGraphLaunch cublasCreate*
    cublasLtCreate cuCtxDestroy* hipModuleLoad* hipMemcpyAsync hipHostFree hipHostMalloc
    cudaStreamSynchronize cuStreamSynchronize cudaDeviceSynchronize cuCtxSynchronize cudaEventSynchronize
    cuEventSynchronize cudaMemcpy cudaMemcpyAsync cuMemcpy* cudaMalloc cudaMallocAsync cuMemAlloc* cudaFree
    cuMemFree* cudaFreeHost cudaHostAlloc cudaLaunchKernel cudaLaunchKernelExC cuLaunchKernel* cudaEventDestroy
    cuEventDestroy* cudaEventQuery cuEventQuery cudaStreamDestroy cuStreamDestroy* cuModuleLoad* cudaModuleLoad*
    cuLibraryLoad* cuModuleUnload cuCtxCreate* cuInit cuDevicePrimaryCtxRetain cudaIpcOpenMemHandle
    cudaHostRegister at::native::_local_scalar_dense_cuda c10::cuda::memcpy_and_sync* at::cuda::memcpy_and_sync*
    memcpy_and_sync c10::cuda::device_synchronize hipStreamSynchronize hipDeviceSynchronize hipEventSynchronize
    hipMemcpy hipMemcpyWithStream hipMalloc hipFree hipLaunchKernel at::native::copy_kernel_cuda
    aclrtSynchronizeStream* aclrtSynchronizeDevice* aclrtSynchronizeEvent* aclrtMemcpy* hipEventQuery hipStreamWaitEvent
    hipModuleLoad* hsa_signal_wait* rocr::core::InterruptSignal* cnrtQueueSync musaStreamSynchronize
    zeEventHostSynchronize zeCommandQueueSynchronize
collective: gloo::allreduce gloo::allgather* gloo::alltoall* gloo::barrier gloo::broadcast gloo::gather*
    gloo::reduce* gloo::scatter gloo::transport::tcp::UnboundBuffer::* gloo::transport::uv::UnboundBuffer::*
    c10d::ProcessGroupGloo::AsyncWork* c10d::Work::wait
    c10d::ProcessGroupNCCL::WorkNCCL::wait c10d::ProcessGroupNCCL::WorkNCCL::synchronize*
    c10d::ProcessGroupNCCL::WorkNCCL::blockingWait c10d::Reducer::finalize_backward c10d::ops::* ncclGroupEnd
    ncclGroupEndInternal ncclAllReduce ncclAllGather ncclReduceScatter ncclBroadcast ncclBcast ncclReduce
    ncclLaunchKernel PMPI_Allreduce MPI_Allreduce PMPI_Bcast MPI_Bcast PMPI_Barrier MPI_Barrier PMPI_Allgather*
    MPI_Allgather* PMPI_Alltoall* MPI_Alltoall* PMPI_Reduce* MPI_Reduce* PMPI_Gather* MPI_Gather* PMPI_Scatter*
    MPI_Scatter* MPI_Ibarrier HcclAllReduce* HcclBroadcast* HcclAllGather* HcclReduceScatter* HcclAlltoAll* HcclBarrier
    ccl::allreduce* ccl::barrier* xla::gpu::NcclCommunicator* xla::gpu::RunAllReduce* xla::gpu::RunAllGather*
    xla::gpu::RunReduceScatter* xla::gpu::RunAllToAll*
p2p: pt2pt_* ccl::pt2pt* ccl::send* ccl::recv* onecclSend onecclRecv
    HcclSend HcclRecv ncclSend ncclRecv MPI_Send MPI_Recv PMPI_Send PMPI_Recv PMPI_Ssend MPI_Sendrecv PMPI_Sendrecv PMPI_Wait
    PMPI_Waitall PMPI_Probe c10d::ProcessGroupGloo::SendWork::wait c10d::ProcessGroupGloo::RecvWork::wait
rendezvous: HcclCommInitRootInfo* HcclCommInitClusterInfo* ncclCommInitRank*
    ncclCommInitAll ncclCommSplit bootstrapInit bootstrapAllGather bootstrapBarrier
    gloo::rendezvous::* MPI_Init* PMPI_Init* MPI_Comm_split PMPI_Comm_split* PMPI_Comm_dup MPI_Comm_spawn
exit: __run_exit_handlers __GI_exit __cxa_finalize Py_FinalizeEx Py_Finalize Py_RunMain_finalize
    finalize_modules _PyGC_CollectNoFail wait_for_thread_shutdown atexit_callfuncs MPI_Finalize PMPI_Finalize
    ncclCommAbort ncclCommDestroy ncclCommFinalize c10d::ProcessGroupNCCL::shutdown
    c10d::ProcessGroupNCCL::abort* c10d::ProcessGroupNCCL::~ProcessGroupNCCL _dl_fini
compile: llvm::* mlir::* triton::* nvrtcCompileProgram nvPTXCompilerCompile ptxas cuLinkComplete
backward: torch::autograd::Engine::execute torch::autograd::python::PythonEngine::execute THPEngine_run_backward
idle: torch::autograd::Engine::thread_main torch::autograd::Engine::thread_init c10::ThreadPool::main_loop
    ncclProxyService* ncclProxyProgress c10d::ProcessGroupNCCL::ncclCommWatchdog
    c10d::ProcessGroupNCCL::watchdogHandler c10d::ProcessGroupNCCL::heartbeatMonitor
    c10d::ProcessGroupGloo::runLoop c10d::detail::TCPStoreMasterDaemon::run gloo::transport::tcp::Loop::run
    blas_thread_server cuda_event_handler gomp_thread_start __kmp_launch_worker Eigen::ThreadPoolTempl*
    arrow::internal::WorkerLoop* rayon_core::registry::ThreadBuilder::run rayon_core::registry::WorkerThread::wait_until*
    uv_run uv__io_poll background_thread_entry ncclRasThreadMain c10d::ProcessGroupNCCL::HeartbeatMonitor*
"""


def _names(text: str) -> dict[Kind, list[str]]:
    """Lines of ``kind: name name …``; a line that starts deeper goes on with the names of the one before."""
    table: dict[Kind, list[str]] = {}
    for line in text.splitlines():
        head, colon, rest = line.strip().partition(": ")
        if colon and " " not in head:
            names = table.setdefault(Kind(head), [])
        else:
            rest = line
        for name in rest.split():
            names.extend(COLLECTIVES if name == "@collectives" else P2P_OPS if name == "@p2p" else [name])
    return table


def _files(text: str) -> dict[str, dict[Kind, list[str]]]:
    """Blocks that begin with a file at the margin."""
    blocks = re.findall(r"^(\S+)\n((?:[ ]+.*\n)+)", text, re.MULTILINE)
    return {file: _names(body) for file, body in blocks}


def _copied(table: dict[str, dict[Kind, list[str]]]) -> dict[str, dict[Kind, list[str]]]:
    """The table with the packages that are copies of multiprocessing: multiprocess (dill's) and billiard (Celery's)."""
    copies = {
        file.replace("multiprocessing/", f"{name}/", 1): kinds
        for file, kinds in table.items()
        for name in ("multiprocess", "billiard")
        if file.startswith("multiprocessing/")
    }
    return {**copies, **table}


PYTHON = _copied(_files(_PYTHON))
NATIVE = _names(_NATIVE)
