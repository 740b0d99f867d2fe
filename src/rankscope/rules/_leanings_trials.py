"""Leanings of what was tried: which setting, call or way of starting ended a trouble, and what that says of its cause."""

# ruff: noqa: E501  (a row is one line; what is looked for is no path of ours)
from __future__ import annotations

from ._leanings import Lean
from ._outcomes import cured_by

# What was changed, and the causes that it removes.
_CHANGES = (
    ("fork-with-threads 4", r"\b(?:spawn|forkserver)\b|set_start_method|get_context|--pool[= ](?:solo|threads)|ThreadPool\w*|backend=\W?threading|without (?:--)?preload|lazy-apps|\bn_jobs ?= ?1\b|importing \w+ (?:in|inside) the (?:child|worker|function)|(?:load|import|open|creat)\w* (?:\w+ ){0,3}(?:in(?:side)?|after) (?:the |each |every )?(?:worker|child|fork)"),
    ("fork-with-threads 3", r"(?:OMP|MKL|OPENBLAS|RAYON|NUMEXPR|VECLIB_MAXIMUM|POLARS_MAX|NUMBA)_(?:NUM_)?THREADS ?= ?1|set_num_threads\(1\)|setNumThreads\(0\)|TOKENIZERS_PARALLELISM ?= ?false|GRPC_ENABLE_FORK_SUPPORT|with OpenBLAS|without MKL|nomkl|threadpool_limits|intra_op_parallelism_threads\W{0,2}1"),
    ("dataloader-worker-deadlock 3", r"num_workers ?[=:]+ ?0|(?:without|no) (?:loader |data )?workers|persistent_workers ?= ?\w+|pin_memory ?= ?False|use_multiprocessing ?= ?False"),
    ("p2p-iommu-hardware 4", r"NCCL_P2P_DISABLE ?= ?1|NCCL_P2P_LEVEL|iommu=(?:pt|off|soft)|IOMMU (?:off|disabled)|ACS (?:off|disabled)|disabl\w+ (?:IOMMU|ACS|P2P|VT-d)|without P2P"),
    ("ib-transport-error 4", r"NCCL_IB_DISABLE ?= ?1|NCCL_IB_(?:GID_INDEX|TC|TIMEOUT|HCA|RETRY_CNT)|NCCL_NET_GDR_LEVEL|NCCL_NET_PLUGIN|over (?:TCP|sockets)|without (?:IB|InfiniBand|RDMA)"),
    ("shm-exhausted 4", r"--shm-size|shm_size|--ipc[= ]?host|NCCL_SHM_DISABLE ?= ?1|larger /dev/shm|sharing_strategy\W{0,3}\W?file_system"),
    ("resource-limit 4", r"ulimit -[nlu]|LimitNOFILE|LimitMEMLOCK|memlock|vm\.max_map_count"),
    ("wrong-interface 4", r"(?:NCCL|GLOO|TP)_SOCKET_IFNAME|btl_tcp_if_\w+|VLLM_HOST_IP|--node-ip|disabl\w+ docker0|/etc/hosts"),
    ("gpu-kernel-hang 3 p2p-iommu-hardware 1", r"--?disable-custom-all-reduce|disable_custom_all_reduce|NCCL_NVLS_ENABLE ?= ?0|NCCL_PROTO ?= ?Simple|NCCL_ALGO ?= ?\w+|without flash[-_ ]?(?:attn|attention|infer)|another attention backend|--attention-backend"),
    ("implicit-sync-deadlock 4", r"CUDA_MODULE_LOADING ?= ?EAGER|HIP_MODULE_LOADING|\bEAGER\b|warm(?:ing)?[- ]?up (?:all|every|each|first|the)|PYTORCH_NO_CUDA_MEMORY_CACHING|expandable_segments"),
    ("implicit-sync-deadlock 2 collective-cycle 2", r"CUDA_DEVICE_MAX_CONNECTIONS ?= ?\d+|GPU_MAX_HW_QUEUES|CUDA_LAUNCH_BLOCKING ?= ?1|--enforce-eager|enforce_eager|disable-cuda-graph|without (?:CUDA )?graphs?"),
    ("collective-cycle 4", r"NCCL_LAUNCH_ORDER_IMPLICIT ?= ?1|one (?:stream|communicator|group|process per GPU)|a single (?:stream|communicator|group)|overlap\w* off|without overlap\w*|overlap_comm\W{1,4}false"),
    ("collective-missed-by-rank 4", r"synced_gpus ?= ?True|drop_last ?= ?True|\bJoin(?:\(| context)|even_batches|broadcast_buffers ?= ?False|sync_dist ?= ?\w+|without (?:the )?(?:evaluation|validation|eval|callback|early stopping|barrier)|all ranks (?:call|enter|take part)|removing the (?:if|condition)|dummy (?:run|batch|input)s?|without (?:speculative|MTP|prefetch|the cache)"),
    ("collective-mismatch 3 collective-missed-by-rank 2", r"find_unused_parameters ?= ?True|static_graph|padd?(?:ed|ing) to (?:the )?(?:same|equal|max)|equal (?:shapes?|lengths?|sizes?)|same (?:shapes?|lengths?|sizes?)|fixed (?:shapes?|lengths?|sizes?)|dense model"),
    ("straggler-slow-rank 4", r"(?:longer|larger|higher|increas\w+|rais\w+) (?:\w+ ){0,3}time-?out|ddp_timeout|timedelta\(|NCCL_TIMEOUT|--distributed-timeout|(?:pre)?process\w* (?:the data )?(?:before|once|offline|beforehand)|smaller (?:data ?set|checkpoint|file)s?|from (?:a )?local (?:disk|SSD|copy)"),
    ("compile-worker 4", r"TORCHINDUCTOR_COMPILE_THREADS ?= ?1|compile_threads ?= ?1|TORCHINDUCTOR_WORKER_START|compil\w+ in (?:the )?main process"),
    ("file-lock-stale 4", r"\brm (?:-rf? )?\S*(?:cache|lock|torch_extensions)\S*|(?:delet|remov|clear)\w* (?:the |its |that |all )?(?:\S+ )?(?:lock|cache|torch_extensions|\.lock)\b"),
    ("file-lock-unsupported 4", r"HDF5_USE_FILE_LOCKING|SoftFileLock|nolock|local_lock|(?:cache|HF_HOME|HOME|TMPDIR)\S* (?:on|to|in) (?:a )?(?:local|/tmp)|off (?:the )?NFS"),
    ("lock-order-deadlock 4", r"\bRLock\b|gc\.disable\(\)|(?:without|remov\w+|no) (?:the )?(?:log\w*|print\w*|line|call)s?(?: calls?| lines?)? (?:in|from) (?:the |my |our |all )?(?:signal )?(?:handlers?|__del__|finali[sz]ers?|callbacks?)|lock order|taking the locks? in"),
    ("gil-deadlock 4", r"releas\w+ the GIL|gil_scoped_release|call_guard|allow_threads|nogil|without (?:the )?(?:python )?callback|(?:without|disabl\w+|no) (?:the )?(?:python )?(?:log\w*|trac\w+|profil\w+) (?:callback|hook|function)|logs (?:are )?(?:off|disabled)"),
    ("exit-hang 4", r"os\._exit|destroy_process_group|(?:explicit|call\w*) (?:\w+\.)?(?:shutdown|close|terminate|finish)\(\)|daemon ?= ?True|TORCH_NCCL_ABORT|cancel_futures"),
    ("queue-pipe-full 4", r"communicate\(\)|cancel_join_thread|(?:drain|read|get|empt)\w* (?:\w+ ){0,4}(?:before|prior to) (?:\w+ ){0,3}join|Manager\(\)\.Queue|stdout=(?:subprocess\.)?DEVNULL|(?:smaller|fewer|shorter) (?:results?|messages?|outputs?|items?|iterations?)"),
    ("device-mapping 4", r"(?:torch\.cuda\.)?set_device|device_ids? ?=|CUDA_VISIBLE_DEVICES ?= ?\S+|device_id\b|--gpu-bind|gpus_per_task"),
    ("process-stopped 4", r"kill -CONT|SIGCONT|\bfg\b|(?:detach|quit)\w* (?:the )?(?:gdb|debugger|strace)|unpause|thaw"),
    ("p2p-order-deadlock 4", r"batch_isend_irecv|ncclGroup(?:Start|End)|in (?:one|the same) (?:NCCL |nccl)?group|odd (?:ranks )?(?:send|recv|receive) first|[Ss]endrecv|Isend|non-?blocking sends?|swapp\w+ (?:send|recv)"),
    ("rank-never-joined 4", r"(?:same|equal|right|correct) (?:MASTER_\w+|node_rank|nnodes|world_size|port|rdzv\w*)|--node[-_]rank|unique rank|on all nodes|starting (?:both|all) (?:nodes|hosts)"),
    ("driver-not-ready 4", r"fabric ?manager|nvidia-modprobe|persistenced|reboot\w*|restart\w* (?:the )?(?:driver|service|container runtime)|imex"),
)  # fmt: skip

TRIALS = tuple(Lean(to, cured_by(what), "a change that ended the trouble") for to, what in _CHANGES)
