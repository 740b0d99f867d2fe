"""Whose code a frame stands in: the job's own, an installed library's, or the interpreter's."""

from __future__ import annotations

import enum
import functools
import re
import sys

from ..model.evidence.stacks import Frame
from ..model.patterns import regex


class Origin(str, enum.Enum):
    """Who wrote the code of a frame."""

    USER = "user"  # the job's own modules, scripts and notebooks
    LIBRARY = "library"  # installed packages
    STDLIB = "stdlib"  # the interpreter's own modules
    NATIVE = "native"  # a shared object


_INSTALLED = regex(r".*(?:site|dist)-packages/+")
# A torch that was built where it lies, or unpacked beside the program, is known by its own files only.
_TORCH_TREE = regex(
    r".*/(?=torch/(?:distributed/(?:_?\w*c10d\w*\.py|rendezvous\.py|run\.py|launch\.py|device_mesh\.py|utils\.py"
    r"|collective_utils\.py|_functional_collectives\w*\.py|_state_dict_utils\.py|(?:_composable|_shard|_symmetric_memory|_tensor"
    r"|_tools|algorithms|autograd|checkpoint|debug|elastic|fsdp|launcher|nn|optim|pipelining|rpc|tensor)/)"
    r"|utils/(?:_\w+\.py|data/|checkpoint\.py|cpp_extension\.py|file_baton\.py|hooks\.py)"
    r"|nn/(?:modules|parallel|attention|utils)/|nn/functional\.py|(?:_dynamo|_inductor|_functorch|_higher_order_ops)/"
    r"|autograd/(?:__init__|function|functional|graph|grad_mode)\.py|cuda/(?:__init__|_utils|graphs|memory|streams)\.py"
    r"|multiprocessing/(?:__init__|pool|queue|reductions|spawn)\.py|optim/(?:optimizer|lr_scheduler|adamw?|sgd)\.py"
    r"|(?:_compile|_ops|_tensor|_utils|_jit_internal|functional|serialization|storage)\.py))"
)
_STDLIB_DIR = regex(
    r".*(?:^|(?<!tensorflow)/)(?:lib(?:64)?/+)?(?:python|pypy)[23]?(?:\.\d+)?t?/+(?:lib-dynload/+)?", re.IGNORECASE
)
_OURS = regex(r"(?:.*/)?rankscope/prepare/")  # wrappers in a prepared job, wherever they were put
BUILT_IN = "<built-in>"  # the place of functions that are written in C, where a tool shows them among Python's frames
_FROZEN = regex(r"<frozen ([\w.]+)>")
# Deepest directories from which people run code of their own although its path says python.
_NOT_STDLIB = frozenset({"test", "tests", "this", "idlelib", "antigravity", "__main__", "__hello__"})
_STDLIB = (frozenset(sys.stdlib_module_names) | {"asyncore", "imp", "distutils", "cgi"}) - _NOT_STDLIB

# py-spy and others cut a path at its sys.path entry, so that only the package's name says that it is installed.
_LIBRARY_NAMES = """
    accelerate aiohttp apex arrow bitsandbytes boto3 botocore cloudpickle cupy cutlass cython dask datasets
    deepspeed diffusers distributed fairscale fairseq fairseq_cli fastapi filelock flash_attn flax fsspec gcsfs
    gevent google grpc gunicorn h5py hivemind horovod huggingface_hub hydra ignite ipykernel jax jaxlib joblib
    keras kornia lightgbm lightning lightning_fabric litdata llvmlite loky matplotlib megatron mlflow mmcv
    mmengine mosaicml mpi4py multiprocess neptune nemo numba numexpr numpy nvidia omegaconf onnxruntime opacus
    optuna orbax pandas peft petsc4py PIL pip pkg_resources polars psutil pyarrow pydantic pytest _pytest
    pytorch_lightning ray requests s3fs safetensors scipy sentence_transformers sentry_sdk setuptools sglang
    sklearn soundfile spacy speechbrain starlette streaming tensorboard tensorboardX tensorflow tensorrt
    tensorrt_llm threadpoolctl timm tokenizers torch torch_xla torchaudio torchdata torchrec torchvision tornado
    tqdm transformer_engine transformers triton trl ucp urllib3 uvicorn uvloop vllm wandb webdataset werkzeug
    xformers xgboost zarr zmq
    absl albumentations asgiref billiard celery ddtrace dill django eventlet flask gym gymnasium kafka kombu memray
    opentelemetry pebble prometheus_client pymongo redis sqlalchemy stable_baselines3 torch_npu twisted
    bagua byteps colossalai composer cupyx deep_ep detectron2 dgl flashinfer httpcore httpx lmdeploy mindspore monai mxnet
    cudf cuml cupy_backends dask_cuda etcd etcd3 kazoo kvikio py4j pyspark raft_dask rmm submitit ucxx
    habana_frameworks intel_extension_for_pytorch libneuronxla neuronxcc tbe te_fusion tilelang torch_neuronx tvm
    neuronx_distributed oneccl_bindings_for_pytorch openai paddle psycopg2 pymysql tritonclient tutel vllm_ascend
"""
_LIBRARIES = frozenset(_LIBRARY_NAMES.split())


@functools.lru_cache(maxsize=65536)
def module_path(file: str) -> str:
    """A file as its path below the directory it is imported from (``torch/utils/file_baton.py``), as far as visible."""
    frozen = _FROZEN.match(file)
    if frozen:
        return frozen.group(1).replace(".", "/") + ".py"
    path = file.replace("\\", "/")
    for marker in (_INSTALLED, _TORCH_TREE, _STDLIB_DIR):
        found = marker.match(path)
        if found:
            return path[found.end() :]
    return path.lstrip("./") if not path.startswith("/") else path


@functools.lru_cache(maxsize=65536)
def origin_of_file(file: str) -> Origin:
    """Who wrote a Python file, judged from its path alone."""
    if _FROZEN.match(file) or file == BUILT_IN:
        return Origin.STDLIB
    path = file.replace("\\", "/")
    if _INSTALLED.match(path) or _TORCH_TREE.match(path) or _OURS.match(path):
        return Origin.LIBRARY
    top = re.sub(r"\.pyc?$|\.pyx$", "", module_path(file).split("/", 1)[0])
    if _STDLIB_DIR.match(path):
        return Origin.STDLIB if top in _STDLIB else Origin.USER
    if path.startswith("/"):
        return Origin.USER
    if top in _STDLIB:
        return Origin.STDLIB
    return Origin.LIBRARY if top in _LIBRARIES else Origin.USER


def origin(frame: Frame) -> Origin:
    """Who wrote the code of a frame."""
    return Origin.NATIVE if frame.library is not None else origin_of_file(frame.file)


def is_user(frame: Frame) -> bool:
    """Whether a frame belongs to the job itself rather than to a library or the interpreter."""
    return bool(frame.file) and origin(frame) is Origin.USER
