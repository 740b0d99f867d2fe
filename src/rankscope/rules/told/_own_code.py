"""Subjects alone in code of the job: by their stacks they wait there, compute, or run a command, and call nobody."""

from __future__ import annotations

from ...analysis.doings import Doing, in_kind
from ...analysis.frame_tables import WaitKind
from ...model.patterns import regex
from ...model.process import Role

_WAITS = (
    WaitKind.USER.value, WaitKind.SOCKET.value, WaitKind.SLEEP.value, WaitKind.INPUT.value, WaitKind.PIPE.value,
)  # fmt: skip


def in_own_code(found: list[Doing]) -> list[Doing]:
    """Those of some subjects that stand in code of the job."""
    waiting = [doing for doing in in_kind(found, *_WAITS) if _of_the_job(doing)]
    return waiting + [doing for doing in found if _computes(doing) or _runs_command(doing)]


# Sockets and pipes of communication libraries, and of what is taken down, are no code of the job.
_OF_LIBRARIES = regex(
    r"\b(?:gloo|nccl|uc[pts]_|ompi_|opal_|orte_|prte_|PMIx?_|PMPI_|c10d|tensorpipe|fi_|grpc_core)|[Ff]inali[sz]e|"
    r"atexit|_exit\b|resource_tracker"
)


def _of_the_job(doing: Doing) -> bool:
    """Whether a wait was seen in a stack, and is neither a loader's nor a library's own."""
    account = doing.account
    seen = account is not None and bool(account.seen) and account.role is not Role.DATALOADER_WORKER
    return seen and not _OF_LIBRARIES.search(doing.site)


# The standard library's own computing: it does not wait, and works on what the job gave it.
_COMPUTING = regex(
    r"(?:^|/|<frozen )(?:re|re/__init__|sre_\w+|copy|json/\w+|ast|difflib|heapq|random|statistics|fractions|decimal|"
    r"_pydecimal|textwrap|"
    r"html/parser|xml/\S+|itertools|functools|collections/__init__|_collections_abc|enum|typing|dataclasses|datetime|bisect|string)(?:\.py|>)$"
)
# The interpreter itself at work: it runs Python code, of which a native stack does not tell the names.
_INTERPRETS = regex(
    r"^_?Py(?:Eval_EvalFrame|Object_|Number_|Dict_|Unicode_|Long_|Float_|List_|Tuple_|Set_|Bytes_|Function_)"
)


_AT_WORK = {WaitKind.LIBRARY.value, WaitKind.UNKNOWN.value}


def _computes(doing: Doing) -> bool:
    """Whether a stack ends in a computation that the job's own code gave to the standard library, a regular expression say,
    or in the interpreter."""
    main = doing.main if doing.kind in _AT_WORK else None
    if main is None or not main.stack:
        return False
    leaf = main.stack[-1]
    return (_INTERPRETS.match(leaf.function) if main.native else _COMPUTING.search(leaf.file)) is not None


def _runs_command(doing: Doing) -> bool:
    """Whether the job's own code waits, without a limit that anybody sees, for the end of a command."""
    main = doing.main if doing.kind == WaitKind.CHILD.value else None
    return main is not None and any(_RUN.search(f"{frame.function} {frame.file}") for frame in main.stack)


_RUN = regex(r"^(?:run|call|check_call|check_output|communicate) (?:\S*/)?subprocess\.py$")
