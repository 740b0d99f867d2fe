"""Libraries that keep threads or locks of a whole process, which a fork does not copy: the one table of them."""

# ruff: noqa: E501  (a list of names is one line)
from __future__ import annotations

import re
from typing import NamedTuple

from ...analysis.account import written
from ...analysis.origin import module_path
from ...model.evidence.stacks import Stack
from ...model.patterns import regex


class Family(NamedTuple):
    """One of them: its functions and files, its locks as texts name them, its modules as people name them."""

    name: str
    frames: str = ""
    locks: str = ""
    words: str = ""


_FAMILIES = (
    Family("OpenMP", r"\b(?:gomp_|GOMP_|omp_|__kmp|kmp_)\w*|lib(?:gomp|iomp5?|omp)\b", locks=r"__kmp_\w+|gomp_\w+|omp_\w+", words="omp|iomp|gomp"),
    Family("BLAS", r"\bexec_blas|\bblas_\w+|\bcblas_\w+|openblas|\bmkl_\w+|libmkl|gemm_(?:thread|driver)|(?:getrf|potrf)_parallel|LAPACKE|APPLE_BLAS|vecLib|libblis", locks=r"blas_\w+|mkl_\w+", words="mkl|openblas|onednn|dnnl"),
    Family("TBB", r"\btbb::|libtbb", locks=r"tbb::\S+", words="tbb"),
    Family("rayon", r"\brayon(?:_core)?::|crossbeam|polars|tokenizers::", locks=r"rayon\w*", words="polars|rayon|tokenizers"),
    Family("tokio", r"\btokio::|async_std::|lance::|object_store::|opendal", words="lance"),
    Family("a Rust library", r"\bparking_lot(?:_core)?::|\bstd::sys::|std::thread::|once_cell::", locks=r"std::sys::\S*mutex"),
    Family("Eigen or onnxruntime", r"\bEigen::|onnxruntime::|\bMlas"),
    Family("TensorFlow", r"\btensorflow::|\bnsync|\btsl::|_pywrap_tensorflow", words="tensorflow"),
    Family("JAX", r"\bxla::|\bjaxlib|xla_extension", words="jax|xla"),
    Family("gRPC", r"\bgpr_\w+|\bgrpc_\w+|\bgrpc(?:_core)?::|grpc/_cython", locks=r"grpc_\w+", words="grpc"),
    Family("Abseil or protobuf", r"\babsl::|google::protobuf|AbslInternal\w+", locks=r"absl::\S*Mutex|SpinLock(?:Delay|Holder|::\w*Lock)?|SlowLock"),
    Family("Arrow", r"\barrow::|\bparquet::|libarrow", words="pyarrow"),
    Family("OpenCV", r"\bcv::|libopencv|cv2\.abi3|cv2\.cpython", words="opencv|cv2"),
    Family("PyTorch's threads", r"\bc10::(?:ThreadPool|TaskThreadPool|get_backtrace)|\bat::(?:internal|launch|parallel|native)|\bcaffe2::", words="torch"),
    Family("LightGBM, XGBoost or faiss", r"\bLightGBM::|\bxgboost::|\bdmlc::|\bfaiss::|catboost", words="faiss"),
    Family("numba", r"\bworkqueue\b|numba|do_scheduling", words="numba"),
    Family("an AWS client", r"\bAws::|\baws_\w+", words="boto|botocore|s3fs|fsspec|gcsfs|aiohttp"),
    Family("Kafka", r"\brd_kafka_\w+|librdkafka", words="kafka"),
    Family("ZeroMQ", r"\bzmq::|\bzmq_\w+"),
    Family("Boost, folly or glog", r"\bboost::|\bfolly::|google::LogMessage|\bspdlog::|\bquill::"),
    Family("a Java machine", r"\bMonitor::|Safepoint|\bJVM_|\bjni_|jpype|libjvm"),
    Family("a Go runtime", r"\bruntime\.(?:futex|notesleep|cgocallback|mcall|gopark)|_cgo_wait_runtime_init_done"),
    Family("a tracer", r"\blttng_\w+|opentelemetry::|sentry_|datadog::|\bdd_\w+|CUPTI|libkineto"),
    Family("Ceph", r"\blibrados|\brados_|libcephfs"),
    Family("HDF5", r"\bH5\w+|\bhdf5|FastRLock|h5py", words="h5py|zarr"),
    Family("GDAL", r"\bCPL\w+|\bGDAL\w+|VSI\w+"),
    Family("a data base client", r"\bPQ\w+|\bmysql_\w+|\bmy_thread_init|\bOCI\w+|\bsltsm\w+|sqlite3\w+|mongoc_\w+|duckdb::", words="duckdb|pymongo"),
    Family("curl", r"\bcurl_\w+|\bCurl_\w+"),
    Family("OpenSSL", r"\bCRYPTO_THREAD\w*|\bRAND_\w+|\bEVP_\w+|\bSSL_\w+|libcrypto"),
    Family("V8", r"\bv8::"),
    Family("macOS", r"\b_?dispatch_\w+|\bxpc_\w+|\bnotify_\w+|_os_log\w*|SCDynamicStore\w*|CFPreferences\w*|\bobjc_\w+|NSXPC|get_proxies"),
    Family("the allocator", r"\b(?:je_|mi_|_mi_|tc_)\w*|\btcmalloc::|\barena_get\w*|\b_int_(?:malloc|free)|\bptmalloc\w*|(?:__libc_)?(?:malloc|calloc|realloc|free)\b|mmap_lock", locks=r"heap_lock|freelist_lock|extent_mutex|malloc_mutex|arena_get2|ptmalloc\w*|_int_malloc|__libc_malloc|tcache_init|je_\w+|tc_malloc|tcmalloc|CentralFreeList"),
    Family("the C library", r"\b(?:__tz_convert|localtime|getaddrinfo|__res_\w+|__nss_\w+|getpw\w+|getgr\w+|setenv|putenv|__add_to_environ|_IO_\w+|__?v?syslog\w*|__dcigettext|setlocale|__new_exitfn|__cxa_atexit|__internal_atexit|__cxa_guard_acquire|__pthread_once\w*|std::call_once|__run_\w*fork_handlers)", locks=r"__cxa_atexit|__tls_get_addr|getaddrinfo|_IO_lock|_IO_flockfile|__tz_convert|localtime_r|setenv|pthread_atfork|fork_handler"),
    Family("the dynamic linker", r"\b_dl_\w+|\bdl_iterate_phdr|\bdlopen\w*|_Unwind_Find_FDE|\b_rtld\w*", locks=r"_dl_add_to_namespace_list|_rtld_global|_dl_open|dl_iterate_phdr"),
    Family("the interpreter's own locks", r"\b(?:PyThreadState_New|new_threadstate|_PyThreadState_\w+|PyInterpreterState_\w+|_enter_buffered_busy|_PyMutex_LockTimed|PyMutex_Lock|_PyImport_\w+|tstate_\w+)"),
    Family("numexpr", words="numexpr"),
    Family("a reader of images", words="decord|pydicom|pyvips"),
)  # fmt: skip
# In this order: the first whose functions are found is named.
LIBRARIES = tuple((one.name, regex(one.frames)) for one in _FAMILIES if one.frames)
LOCKS = "|".join(one.locks for one in _FAMILIES if one.locks)
WORDS = "|".join(one.words for one in _FAMILIES if one.words)

_BEGINS = {"threading.py", "concurrent/futures/thread.py"}


def began_in(stack: Stack, library: re.Pattern[str]) -> bool:
    """Whether a thread is one that a library keeps for itself: the first code below the frames of threading is the library's."""
    own = next((at for at, frame in enumerate(stack) if module_path(frame.file) not in _BEGINS), 0)
    return own > 0 and library.search(written(stack[own : own + 1])) is not None
