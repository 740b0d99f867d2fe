"""Native functions of what a job is made of: its store, its devices, its collectives, its compilers and its helper threads."""

from __future__ import annotations

TABLE = """
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
