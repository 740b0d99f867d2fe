"""What a thread waits for, read from its frames: the tables of ``frame_tables``, from the deepest frame outward."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from ..model.evidence.stacks import Frame, Stack
from ..model.patterns import regex
from ..model.repeated import of_stacks
from .frame_tables import BUILTINS, NATIVE, PYTHON, STRENGTH, WaitKind
from .origin import Origin, is_user, module_path, origin

__all__ = ["WaitKind", "WaitState", "at_rest", "deepest_user", "has", "kind_of", "plain_name", "wait_of"]


@dataclass(frozen=True)
class WaitState:
    """What a thread does: ``index`` is the frame that decided, ``user`` the deepest one of the job's own code (or -1)."""

    kind: WaitKind
    op: str = ""
    index: int = -1
    user: int = -1
    user_frame: Frame | None = None


def _by_file() -> dict[str, list[tuple[str, dict[str, WaitKind]]]]:
    """The Python table by last path component, so that one lookup finds the few candidates."""
    table: dict[str, list[tuple[str, dict[str, WaitKind]]]] = {}
    for suffix, kinds in PYTHON.items():
        functions = {name: kind for kind, names in kinds.items() for name in names}
        table.setdefault(suffix.rsplit("/", 1)[-1], []).append((suffix, functions))
    for candidates in table.values():
        candidates.sort(key=lambda item: -len(item[0]))
    return table


_PYTHON = _by_file()
_EXACT = {name: kind for kind, names in NATIVE.items() for name in names if not name.endswith("*")}
_PREFIX = sorted(
    ((name[:-1], kind) for kind, names in NATIVE.items() for name in names if name.endswith("*")),
    key=lambda item: -len(item[0]),
)
# A module that Cython made shows its methods by their Python names, and the library in place of the source.
_EXTENSION = regex(r"\.(?:cpython|pypy|abi3)[\w-]*\.so$")
_TAIL = regex(r"@@?[\w.]+$|\.(?:part|isra|constprop|cold|lto_priv)\.?\d*.*$|\s*\[clone [^\]]*\]")


@functools.lru_cache(maxsize=65536)
def plain_name(function: str) -> str:
    """A native function without arguments, template parameters, return type and symbol version."""
    name = _TAIL.sub("", function.strip())
    name = name.replace("(anonymous namespace)", "_anon_")
    out, depth = [], 0
    for char in name:
        if char in "<(":
            depth += 1
        elif char in ">)":
            depth = max(0, depth - 1)
        elif depth == 0:
            out.append(char)
    words = "".join(out).removesuffix(" const").split()
    return words[-1].replace("_anon_", "(anonymous namespace)") if words else ""


@functools.lru_cache(maxsize=65536)
def _native_kind(function: str) -> WaitKind | None:
    name = plain_name(function)
    found = _EXACT.get(name)
    if found is not None:
        return found
    for prefix, kind in _PREFIX:
        if name.startswith(prefix):
            return kind
    return None


@functools.lru_cache(maxsize=65536)
def _python_kind(function: str, file: str) -> WaitKind | None:
    path = module_path(file)
    name = function.rsplit(".", 1)[-1]
    for suffix, functions in _PYTHON.get(path.rsplit("/", 1)[-1], ()):
        if _ends_with(path, suffix):
            return functions.get(name) or functions.get("*")
    return BUILTINS.get(function) if not file or file.startswith("<") else None


def _ends_with(path: str, suffix: str) -> bool:
    """Whether a path is the suffix, or ends with it at a component; one-file modules must stand at the top."""
    if path == suffix:
        return True
    return "/" in suffix and path.endswith("/" + suffix)


def kind_of(frame: Frame) -> WaitKind | None:
    """What this frame alone says its thread waits for; None when it says nothing."""
    if frame.library is not None or (not frame.file and not frame.line):
        module = _EXTENSION.sub(".pyx", frame.library or "")
        own = _python_kind(frame.function, module) if module.endswith(".pyx") else None
        return own or _native_kind(frame.function)
    return _python_kind(frame.function, frame.file)


def has(stack: Stack, kind: WaitKind) -> int | None:
    """The index of the deepest frame of one kind, None where there is none."""
    for index in range(len(stack) - 1, -1, -1):
        if kind_of(stack[index]) is kind:
            return index
    return None


def deepest_user(stack: Stack) -> int:
    """The index of the deepest frame of the job's own code, -1 where there is none."""
    for index in range(len(stack) - 1, -1, -1):
        if is_user(stack[index]):
            return index
    return -1


_TASKS = "concurrent/futures/thread.py"


@functools.lru_cache(maxsize=65536)
def wait_of(stack: Stack) -> WaitState:
    """What a thread waits for: the frame between its end and the job's own code that says most, deeper ones first."""
    if not stack:
        return WaitState(WaitKind.UNKNOWN)
    user = deepest_user(stack)
    frame = stack[user] if user >= 0 else None
    best: tuple[int, WaitKind, int] | None = None
    for index in range(len(stack) - 1, max(user, _task(stack)), -1):
        kind = kind_of(stack[index])
        weight = _weight(stack[index], kind) if kind is not None else 0
        if kind is not None and (best is None or weight > best[0]):
            best = (weight, kind, index)
    if best is not None:
        kind = WaitKind.CONDITION if _of_threads(stack, best[2]) else best[1]
        return WaitState(kind, _op(stack[best[2]]), best[2], user, frame)
    last = stack[-1]
    kind = WaitKind.USER if user == len(stack) - 1 else WaitKind.LIBRARY
    if origin(last) is Origin.NATIVE and user < 0:
        kind = WaitKind.UNKNOWN
    return WaitState(kind, last.function, len(stack) - 1, user, frame)


def _task(stack: Stack) -> int:
    """Where a pool's thread began what it was given; the loop further out in which it waits for work says nothing then."""
    for index in range(len(stack) - 1, -1, -1):
        if stack[index].function.endswith("run") and module_path(stack[index].file) == _TASKS:
            return index
    return -1


@of_stacks
def at_rest(stack: Stack) -> bool:
    """Whether a thread waits for work where such threads do: in a server's own loop, as a pool's worker; not in a lock."""
    python = Stack(frame for frame in stack if frame.library is None)
    loop = has(python, WaitKind.IDLE)
    if loop is None or kind_of(python[-1]) is WaitKind.LOCK or has(python, WaitKind.EXIT) is not None:
        return False
    return not any(map(is_user, python[loop + 1 :]))


def _of_threads(stack: Stack, index: int) -> bool:
    """Whether a frame is of a barrier between threads of one process; that of processes waits in multiprocessing's condition."""
    if stack[index].library is not None or module_path(stack[index].file) != "threading.py":
        return False
    inner = stack[index + 1 :]
    return kind_of(stack[index]) is WaitKind.COLLECTIVE and any(
        module_path(frame.file) == "threading.py" and frame.function.rsplit(".", 1)[-1] == "wait_for" for frame in inner
    )


def _weight(frame: Frame, kind: WaitKind) -> int:
    """How much a frame says; gloo's transport serves collectives and sends alike, so that its caller says more."""
    return min(STRENGTH[kind], 4) if frame.function.startswith("gloo::transport::") else STRENGTH[kind]


# Inner functions whose callers people know by another name.
_CALLED = {"_wait": "barrier"}  # threading.Barrier


def _op(frame: Frame) -> str:
    name = plain_name(frame.function) if frame.library is not None or not frame.file else frame.function
    last = name.rsplit("::", 1)[-1].rsplit(".", 1)[-1]
    return _CALLED.get(last, last)
