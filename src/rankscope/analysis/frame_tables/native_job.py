"""Native functions of what a job is made of: its store, its devices, its collectives, its compilers and its helper threads."""

from __future__ import annotations

TABLE = """
store: c10d::TCPStore::* c10d::detail::TCPClient::* c10d::detail::Socket* c10d::PrefixStore::*
    c10d::FileStore::* c10d::Store::*
device: cuGraphInstantiate* cudaGraphInstantiate* cudaGraphExecDestroy cuGraphExecDestroy hipGraphInstantiate*
    cuFreeHost cuMemFreeHost cuMemAllocHost* cuMemHostAlloc cuMemHostRegister* cudaMallocHost cudaFreeAsync
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
    nvshmem_barrier* nvshmemx_barrier* nvshmemi_barrier* nvshmem_sync* nvshmemx_sync* shmem_barrier_all pshmem_barrier_all
    mpi_allreduce_ mpi_barrier_ mpi_bcast_ mpi_reduce_ mpi_allgather_ mpi_allgatherv_ mpi_alltoall_ mpi_alltoallv_ mpi_gather_
    mpi_gatherv_ mpi_scatter_ mpi_scatterv_ pmpi_allreduce_ pmpi_barrier_ pmpi_bcast_ pmpi_reduce_ pmpi_allgather_
    pmpi_allgatherv_ pmpi_alltoall_ pmpi_alltoallv_ pmpi_gather_ pmpi_gatherv_ pmpi_scatter_ pmpi_scatterv_ PMPI_ALLREDUCE
    PMPI_BARRIER PMPI_BCAST PMPI_REDUCE PMPI_ALLGATHER PMPI_ALLTOALL PMPI_GATHER PMPI_SCATTER PMPI_Win_fence MPI_Win_fence
    PMPI_File_write_all* PMPI_File_read_all* PMPI_File_write_at_all* PMPI_File_read_at_all*
    rabit::* xgboost::collective::* LightGBM::Network::* upcxx::barrier*
    gasnet_barrier_wait chpl_comm_barrier c10d::ProcessGroupMPI::WorkMPI::wait ncclReduceScatter*
p2p: MPI_Wait MPI_Waitall MPI_Waitany PMPI_Waitany PMPI_Waitsome MPI_Waitsome MPI_Probe PMPI_Mprobe MPI_Mprobe MPI_Ssend
    PMPI_Rsend MPI_Bsend PMPI_Bsend mpi_send_ mpi_recv_ mpi_ssend_ mpi_sendrecv_ mpi_wait_ mpi_waitall_ mpi_probe_
    pmpi_send_ pmpi_recv_ pmpi_ssend_ pmpi_sendrecv_ pmpi_wait_ pmpi_waitall_ pmpi_probe_ PMPI_SEND PMPI_RECV PMPI_SSEND
    PMPI_SENDRECV PMPI_WAIT PMPI_WAITALL
    pt2pt_* ccl::pt2pt* ccl::send* ccl::recv* onecclSend onecclRecv
    HcclSend HcclRecv ncclSend ncclRecv MPI_Send MPI_Recv PMPI_Send PMPI_Recv PMPI_Ssend MPI_Sendrecv PMPI_Sendrecv PMPI_Wait
    PMPI_Waitall PMPI_Probe c10d::ProcessGroupGloo::SendWork::wait c10d::ProcessGroupGloo::RecvWork::wait
rendezvous: LightGBM::Linkers::Construct LightGBM::Network::Init rabit::engine::AllreduceBase::ConnectTracker
    rabit::engine::AllreduceBase::ReConnectLinks HcclCommInitRootInfo* HcclCommInitClusterInfo* ncclCommInitRank*
    ncclCommInitAll ncclCommSplit bootstrapRoot bootstrapInit bootstrapAllGather bootstrapBarrier
    gloo::rendezvous::* MPI_Init* PMPI_Init* MPI_Comm_split PMPI_Comm_split* PMPI_Comm_dup MPI_Comm_spawn
exit: __run_exit_handlers __GI_exit __cxa_finalize Py_FinalizeEx Py_Finalize Py_RunMain_finalize
    finalize_modules _PyGC_CollectNoFail wait_for_thread_shutdown atexit_callfuncs MPI_Finalize PMPI_Finalize
    ncclCommAbort ncclCommDestroy ncclCommFinalize c10d::ProcessGroupNCCL::shutdown
    c10d::ProcessGroupNCCL::abort* c10d::ProcessGroupNCCL::~ProcessGroupNCCL _dl_fini
compile: llvm::* mlir::* triton::* nvrtcCompileProgram nvPTXCompilerCompile ptxas cuLinkComplete __cuda_CallJitEntryPoint
    nvJitLinkComplete hiprtcCompileProgram amd_comgr_do_action miopen::solver::GenericSearch* miopenFindConvolution*
    miopen::ConvolutionDescriptor::FindConv*
    miopen::conv::ConvolutionDescriptor::FindConv* cudnnFindConvolution* nvvmCompileProgram
    xla::Compiler::* xla::gpu::GpuCompiler::* xla::cpu::CpuCompiler::* clBuildProgram zeModuleCreate
backward: torch::autograd::Engine::execute torch::autograd::python::PythonEngine::execute THPEngine_run_backward
idle: torch::autograd::Engine::thread_main torch::autograd::Engine::thread_init c10::ThreadPool::main_loop
    ncclProxyService* ncclProxyProgress c10d::ProcessGroupNCCL::ncclCommWatchdog
    c10d::ProcessGroupNCCL::watchdogHandler c10d::ProcessGroupNCCL::heartbeatMonitor
    c10d::ProcessGroupGloo::runLoop c10d::detail::TCPStoreMasterDaemon::run gloo::transport::tcp::Loop::run
    blas_thread_server cuda_event_handler gomp_thread_start __kmp_launch_worker Eigen::ThreadPoolTempl*
    arrow::internal::WorkerLoop* rayon_core::registry::ThreadBuilder::run rayon_core::registry::WorkerThread::wait_until*
    uv_run uv__io_poll background_thread_entry ncclRasThreadMain c10d::ProcessGroupNCCL::HeartbeatMonitor*
"""
