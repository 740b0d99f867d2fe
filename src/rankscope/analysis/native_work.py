"""Long calls into native code that computes: a factorisation, a hash, an index, a tokenizer.

Whoever writes such a call lets the other threads of Python run meanwhile, since it takes long by its nature; a loop that went
astray (in Python, in a regular expression) keeps the GIL. What spins for a device or a network is no work, and a call that waits
for a device (``tensor.item()``) leaves no frame of its own either: of a process that has one open only a call counts that was
made in code which has nothing to do with devices.
"""

from __future__ import annotations

from ..model.evidence.stacks import Stack
from ..model.evidence.threads import Threads
from .devices import has_device
from .frame_tables import WaitKind
from .origin import module_path
from .standing import Standing

_OWN = (WaitKind.USER, WaitKind.LIBRARY, WaitKind.CHECKPOINT)
# Packages whose compiled code computes on the CPU alone, and modules of others that only call such packages.
_ON_CPU = (
    "numpy/", "scipy/", "pandas/", "polars/", "pyarrow/", "sklearn/", "tokenizers/", "sentencepiece/", "tiktoken/", "PIL/",
    "cv2/", "lmdb/", "h5py/", "safetensors/", "soundfile.py", "librosa/", "transformers/tokenization_utils", "hashlib.py",
    "gzip.py", "bz2.py", "lzma.py", "zipfile/", "zipfile.py", "tarfile.py", "shutil.py", "sqlite3/",
)  # fmt: skip


def computes_natively(standing: Standing) -> bool:
    """Whether every look found the deciding thread running without the GIL, and it never went to sleep in between.

    Who wants the GIL and does not get it sleeps, so such a thread is in native code by its own choice.
    """
    member, looks, tid = standing.member, standing.looks, standing.kernel.tid if standing.kernel else 0
    tasks = [task for look in member.over_time(Threads) for task in look.threads if task.tid == tid]
    runs = len(tasks) > 1 and {task.state for task in tasks} == {"R"} and len({task.voluntary for task in tasks}) == 1
    free = len(looks) == len(tasks) and not any(one.holds_gil for one in looks)
    return runs and free and standing.kind in _OWN and (has_device(member) is False or bool(called_package(standing)))


def called_package(standing: Standing) -> str:
    """The package of the innermost frame of Python, where it is one that knows no device; else empty."""
    return package_of(standing.own_stack)


def package_of(stack: Stack) -> str:
    """The package on top of a stack of Python, where it is one that knows no device; else empty."""
    path = module_path(stack[-1].file) if stack else ""
    return path.split("/")[0] if path.startswith(_ON_CPU) else ""
