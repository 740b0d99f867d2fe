"""Defects of releases of MPI, UCX, BLAS, frameworks and servers: versions, what shows them, what cures them."""

# ruff: noqa: E501  (a defect is one row)
from __future__ import annotations

from ._defects import GITHUB as _GH
from ._defects import HANGS, Defect

_BLAS = r"exec_blas\w*|blas_thread_\w+|inner_thread|blas_memory_alloc|\w*gemm_thread_\w+|libopenblas\w*"
_RECONNECT = r"re-?connect\w*|restart\w*|Connection to broker lost"
_RAY = r"\bray\b|raylet|grpc"

LIBRARIES = (
    # --- MPI, UCX
    Defect("openmpi", "2.0.0", "2.0.2", (r"\bosc\w*|MPI_Win_\w+|one-sided|RMA", HANGS + r"|opal_progress"), "one-sided transfers of a rank with itself do not end", "Open MPI 2.0.2 or later", _GH + "open-mpi/ompi/issues/2538"),
    Defect("openmpi", "2.1.0", "2.1.6", (r"btl_vader|vader|opal_progress", HANGS + r"|clock_gettime"), "the shared-memory transport loses messages", "Open MPI 2.1.6, 3.1.3 or later; --mca btl ^vader until then", _GH + "open-mpi/ompi/issues/5638"),
    Defect("openmpi", "3.0.0", "3.1.3", (r"btl_vader|vader|opal_progress", HANGS + r"|clock_gettime"), "the shared-memory transport loses messages", "Open MPI 3.1.3 or later; --mca btl ^vader until then", _GH + "open-mpi/ompi/issues/5638"),
    Defect("openmpi", "3.1.0", "4.0.1", (r"dbcsr|cp2k", HANGS), "operations on windows do not end", "Open MPI 4.0.1 or later", _GH + "cp2k/dbcsr/issues/141"),
    Defect("openmpi", "4.0.0", "4.0.2", (r"osc_ucx|ompi_osc_ucx\w*",), "one-sided transfers over UCX wait for each other's locks", "Open MPI 4.0.2 or later", _GH + "open-mpi/ompi/pull/6687"),
    Defect("ucx", "1.0", "1.6", (r"ompi_osc_ucx\w*|mca_osc_ucx", r"(?:uc[pt]_worker_progress|progress_callback|opal_progress)"), "one-sided transfers of Open MPI over UCX wait for each other", "newer Open MPI and UCX", _GH + "open-mpi/ompi/issues/6816"),
    Defect("openmpi", "5.0.0", "5.0.1", (r"\bprted?\b|mpirun|prterun", r"(?:after|end|exit|complet|finish)\w*", HANGS), "mpirun does not end after the program has", "Open MPI 5.0.1 or later", _GH + "open-mpi/ompi/issues/12064"),
    Defect("ucx", "1.8.0", "1.8.1", (r"uc[pt]_\w+|libuc[pt]", HANGS), "progress of connections can deadlock", "UCX 1.8.1 or later", _GH + "charmplusplus/charm/issues/2635"),
    # --- BLAS: its own thread server
    Defect("openblas", "0.2.0", "0.2.20", (r"exec_blas\w*|inner_thread|blas_thread_server",), "its thread server can lose the signal that a worker is done, and the caller waits for ever", "OpenBLAS 0.2.20 or later; OPENBLAS_NUM_THREADS=1 until then", _GH + "OpenMathLib/OpenBLAS/issues/937"),
    Defect("openblas", "0.3.0", "0.3.4", (_BLAS, HANGS + r"|sched_yield|pthread_mutex_lock|lll_lock_wait"), "its threads can wait for each other", "OpenBLAS 0.3.4 or later; OPENBLAS_NUM_THREADS=1 until then", _GH + "MacPython/scipy-wheels/pull/42"),
    Defect("openblas", "0.3.26", "0.3.27", (_BLAS + r"|openblas", HANGS), "its threads can wait for each other", "OpenBLAS 0.3.27 or later; OPENBLAS_NUM_THREADS=1 until then", _GH + "scikit-learn/scikit-learn/pull/28774"),
    Defect("openblas", "0.3.30", "0.3.31", (r"getrf\w*|gesv\w*|slogdet|linalg|exec_blas_async\b", HANGS + r"|futex|lll_lock_wait|pthread_mutex_lock|\bfork\w*"), "a lock of its thread server is taken twice once the process has forked", "OpenBLAS 0.3.31 or later, or 0.3.29; OPENBLAS_NUM_THREADS=1 until then", _GH + "OpenMathLib/OpenBLAS/issues/5520"),
    Defect("mkl", "2018.0", "2019.1", (r"\bfork\w*|multiprocessing|sub-?process|child|exec_command", HANGS + r"|sched_yield"), "its OpenMP runtime hangs in a child that was forked", "a later MKL; KMP_INIT_AT_FORK=FALSE or MKL_THREADING_LAYER=TBB until then", _GH + "numpy/numpy/issues/10993", weak=True),
    # --- RPC, queues, schedulers
    Defect("grpc", "1.48.0", "1.48.2", (_RAY, HANGS), "connections of this release hang", "grpcio 1.48.2 or an older one", _GH + "ray-project/ray/issues/27299"),
    Defect("grpc", "1.52.0", "1.53", (_RAY, HANGS), "connections of this release hang", "another release of grpcio", _GH + "ray-project/ray/pull/32245"),
    Defect("grpc", "1.52.0", "1.52.1", (r"Waiting for thread pool to idle before forking",), "it waits for its own threads before every fork", "another release of grpcio", _GH + "ray-project/ray/issues/32246"),
    Defect("grpc", "1.59.0", "1.59.1", (r"Waiting for thread pool to idle|" + HANGS, r"grpc"), "its thread pool hangs where a process forks or clients are made in threads", "another release of grpcio", _GH + "grpc/grpc/issues/34672"),
    Defect("grpc", "1.60.0", "1.63", (r"dagster|grpc (?:server|health)|code server", HANGS), "servers of this release stop answering", "grpcio below 1.60", _GH + "dagster-io/dagster/pull/21106", weak=True),
    Defect("dask", "2021.10", "2021.11", (r"distributed|dask", r"errored|raise[sd]?|Error\b", HANGS), "after a task that failed, later computations wait for ever", "dask and distributed 2021.11.0 or later", _GH + "dask/distributed/issues/5497"),
    Defect("dask", "2021.9", "2022.5.1", (r"distributed|dask", r"reconnect\w*|Worker reconnection|stuck in \W?processing"), "a worker that connects again and its scheduler do not agree on what it holds", "dask and distributed 2022.5.1 or later", _GH + "dask/distributed/issues/5480"),
    Defect("kombu", "5.2.3", "5.4", (r"redis", _RECONNECT + r"|stops? consuming"), "after the broker came back the worker does not consume any more", "kombu 5.4.0 or later", _GH + "celery/celery/issues/8030"),
    Defect("celery", "5.2.3", "5.4.1", (r"redis", _RECONNECT, r"(?:stops?|stopped|not|never|no longer|without) (?:consum|process|pick)\w*|" + HANGS), "after the broker came back the worker does not consume any more", "kombu 5.4.0 or later", _GH + "celery/celery/issues/8030"),
    # --- frameworks
    Defect("horovod", "0.21.0", "0.21.3", (r"tensorflow|keras|\btf\b", HANGS + r"|Stalled tensors|waiting for remainder of ranks"), "its workers get out of step below TensorFlow 2.4", "Horovod 0.21.3 or later", _GH + "horovod/horovod/pull/2647", weak=True),
    Defect("lightning", "1.2.0", "1.2.4", (r"\bddp\b|DistributedDataParallel|DDPPlugin", r"\b(?:epoch|checkpoint|validation)\b", HANGS), "ranks do not agree about a checkpoint after some epochs", "Lightning 1.2.4 or later", _GH + "Lightning-AI/pytorch-lightning/issues/5865"),
    Defect("deepspeed", "0.5.5", "0.5.7", (r"lightning|PyTorchLightning|fp16|initialize|init", HANGS), "a change of its set-up broke older callers", "DeepSpeed 0.5.7 or later, or 0.5.4", _GH + "deepspeedai/DeepSpeed/issues/1517", weak=True),
    Defect("deepspeed", "0.5.4", "0.5.5", (r"pipe(?:line)?[ _/.]?(?:engine|parallel\w*|schedule|module)|PipelineEngine|_exec_\w+", HANGS), "the pipeline engine deadlocks", "DeepSpeed 0.5.5 or later", _GH + "deepspeedai/DeepSpeed/pull/1473"),
    Defect("deepspeed", "0.13.0", "0.14.0", (r"\bhpz\b|zero_hpz_partition_size|zero_?\+\+|ZeRO\+\+", HANGS + r"|synchronize|all_?gather"), "the second partition of ZeRO++ lets ranks gather in different order", "another release of DeepSpeed; zero_hpz_partition_size=1 until then", _GH + "deepspeedai/DeepSpeed/issues/5030"),
    Defect("torch", "2.0", "2.6", (r"overlap_moe_expert_parallel_comm|A2A overlap", HANGS), "overlapped all-to-alls hang with this PyTorch", "PyTorch 2.6 or later", _GH + "NVIDIA/Megatron-LM/issues/1828"),
    Defect("torch", "0.4.0", "0.4.1", (r"num_workers|DataLoader", r"epoch", HANGS), "the loader hangs between epochs", "PyTorch 0.4.1 or later", _GH + "jwyang/faster-rcnn.pytorch/issues/181"),
    Defect("torch", "1.7", "1.12", (r"Pin memory thread exited unexpectedly|_pin_memory_loop", r"persistent_workers"), "persistent workers end before the thread that reads from them", "PyTorch 1.12 or later; persistent_workers=False until then", _GH + "pytorch/pytorch/pull/72269"),
    Defect("jax", "0.3.0", "0.3.16", (r"ncclCommInitRank|NcclClique|nccl_utils|pmap|all_?gather|ppermute|psum|multi-?gpu", HANGS), "a collective may start before all participants have made their communicators", "jaxlib 0.3.16 or later", _GH + "jax-ml/jax/issues/11637"),
    Defect("jax", "0.1.60", "0.1.68", (r"NcclClique|replica groups?|multi-?host", HANGS), "hosts make their communicators in different order", "jaxlib 0.1.68 or later", "https://android.googlesource.com/platform/external/tensorflow/+/0be5a10c185%5E%21/"),
    Defect("wandb", "0.27.1", "0.27.3", (r"asyncio_manager|run_in_loop|wandb[^\n]*(?:log|init|finish)|upgrad\w*|bump\w*", HANGS + r"|concurrent/futures/_base\.py"), "its event loop in a thread and its callers wait for each other", "wandb 0.27.0 or a later release", _GH + "ServiceNow/Fast-LLM/pull/548"),
    Defect("wandb", "0.19.0", "0.22.3", (r"console_capture",), "a thread that prints holds the lock that the event loop needs to print", "wandb 0.22.3 or later; WANDB_CONSOLE=off until then", _GH + "wandb/wandb/pull/10683"),
    Defect("wandb", "0.13.0", "0.18.0", (r"wandb\.finish|wandb_run\.py[^\n]*(?:finish|_on_finish)|Waiting for W&B process to finish", HANGS + r"|forever|\bwait"), "its helper does not finish after the upload", "wandb 0.18 or later; WANDB_MODE=offline until then", _GH + "wandb/wandb/issues/4929", weak=True),
    Defect("pyarrow", "24.0.0", "25.0.0", (r"ensure_s3_finalized|finalize_s3|FinalizeS3|CleanupCrt",), "its S3 client waits at the end for an event loop that nobody tells to stop", "pyarrow 23 or a release after 24; del the file system and call finalize_s3() before the end", _GH + "apache/arrow/issues/50188"),
    Defect("pyarrow", "6.0.0", "7.0.0", (r"write_dataset|write_to_dataset|DatasetWriter|kDeleteMatching", r"\bS3\b|\bs3://|s3fs|S3FileSystem", r"delete_matching|DeleteMatching|DeleteDirContents|\bexisting (?:data|files)\b[^\n]{0,40}\bdelet\w*", HANGS + r"|\bnever (?:do|did)\b|futex_wait"), "what empties a partition before it is written waits, in each thread of the I/O pool, for more tasks of that pool: with as many partitions as threads (8) none is left", "pyarrow 7 or later; pyarrow.set_io_thread_count() above the number of partitions until then", _GH + "apache/arrow/pull/12099", alone=True),
    Defect("pyarrow", "15.0.0", "17.0.0", (r"ObjectOutputStream", r"lock_wait|mutex_lock|futex|" + HANGS), "a stream to S3 is destroyed under the lock that its end takes", "pyarrow 17 or later", _GH + "apache/arrow/pull/41876"),
    Defect("", "", "", (r"\b(?:py)?av\b\W{1,6}14\.0\.\d|\bFFmpeg\W{1,4}7\.1(?:\.0)?(?![.\d])", r"\bH\.?265\b|\bHEVC\b|\bhevc_\w+"), "FFmpeg 7.1.0 (in PyAV 14.0): threads that decode HEVC can wait for each other", "PyAV 15.1 or FFmpeg 7.1.1; thread_count=1 until then", _GH + "kohya-ss/musubi-tuner/issues/1124"),
    Defect("", "", "", (r"\bIN_UNMOUNT\b", r"\bIN_IGNORED\b", r"\bInotify(?:Buffer|Emitter|Observer)?\b|\bunschedule(?:_all)?\b", HANGS), "watchdog before 2.1.8: its reader does not end when what it watches is unmounted, and who takes the watch back waits for it", "watchdog 2.1.8 or later; take the watch back before the file system goes", _GH + "gorakhargosh/watchdog/pull/869", weak=True),
    Defect("flashinfer", "0.6.7", "0.6.8", (r"trtllm", HANGS), "an attention kernel does not end", "flashinfer 0.6.7.post2 or later", _GH + "sgl-project/sglang/pull/22098"),
    Defect("sglang", "0.3.0", "0.5.99", (r"copy_done\.synchronize|event_loop_overlap", r"disable-overlap-schedule"), "the overlapped schedule can stand between two nodes", "--disable-overlap-schedule", _GH + "sgl-project/sglang/issues/26454", weak=True),
)  # fmt: skip
