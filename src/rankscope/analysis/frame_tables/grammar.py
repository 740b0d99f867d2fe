"""How the tables of this folder are written and read.

A file stands at the margin; below it stand its kinds, each with the names of its functions. "*" is every function of the
file; "@collectives" and "@p2p" are the usual names of those calls. A native table has no files, and a name that ends in "*"
is a prefix there.
"""

from __future__ import annotations

import re

from .kinds import WaitKind

_COLLECTIVES = """
    all_reduce all_reduce_coalesced all_gather all_gather_into_tensor all_gather_object all_gather_coalesced
    _all_gather_base all_to_all all_to_all_single broadcast broadcast_object_list gather gather_object reduce
    reduce_scatter reduce_scatter_tensor _reduce_scatter_base reduce_multigpu scatter scatter_object_list
    barrier monitored_barrier broadcast_coalesced _broadcast_coalesced broadcast_multigpu allreduce allgather
    alltoall all_gather_list
"""
_P2P = "send recv isend irecv batch_isend_irecv send_object_list recv_object_list sendrecv Sendrecv Send Recv"
_FAMILIES = {"@collectives": _COLLECTIVES.split(), "@p2p": _P2P.split()}


def by_kind(text: str) -> dict[WaitKind, list[str]]:
    """Lines of ``kind: name name …``; a line without a kind goes on with the names of the one before."""
    table: dict[WaitKind, list[str]] = {}
    for line in text.splitlines():
        head, colon, rest = line.strip().partition(": ")
        if colon and " " not in head:
            names = table.setdefault(WaitKind(head), [])
        else:
            rest = line
        for name in rest.split():
            names.extend(_FAMILIES.get(name, [name]))
    return table


def by_file(text: str) -> dict[str, dict[WaitKind, list[str]]]:
    """Blocks that begin with a file at the margin, also for the copies that other packages keep of those files."""
    blocks = re.findall(r"^(\S+)\n((?:[ ]+.*\n)+)", text, re.MULTILINE)
    table = {file: by_kind(body) for file, body in blocks}
    return {**_copies(table), **table}


def _copies(table: dict[str, dict[WaitKind, list[str]]]) -> dict[str, dict[WaitKind, list[str]]]:
    """The files of multiprocessing under the packages that copy it: multiprocess (dill's) and billiard (Celery's)."""
    return {
        file.replace("multiprocessing/", f"{name}/", 1): kinds
        for file, kinds in table.items()
        for name in ("multiprocess", "billiard")
        if file.startswith("multiprocessing/")
    }
