"""NCCL (and RCCL) with NCCL_DEBUG, releases 2.3 to 2.30, and the error texts that quote it."""

# ruff: noqa: E501  (a pattern is one line, so that it can be compared with the format string it was made from)
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ...model.evidence.events import Event
from ...model.patterns import regex
from ..lines import Line
from ._table import Fields, Pattern, event, pattern
from ._table import fields_of as _fields

NAME = "NCCL"
NEEDLES = ("NCCL", "nccl", "RCCL", "Net : ", "socketProgress", "NET/", "Last error", "Duplicate GPU", "reverse path")

_PREFIX = regex(
    r"(?:(?P<host>[\w.-]{1,128}):(?P<pid>\d{1,10}):(?P<tid>\d{1,10}) )?(?:\[(?P<gpu>-?\d+)\] )?(?:(?P<file>[\w./-]{1,128}\.(?:cc|h|cu|hpp|cpp)):(?P<at>\d{1,6}) )?(?:\((?P<function>\w{1,128})\) )?(?:NCCL|RCCL) (?P<level>INFO|WARN|ERROR|TRACE|ABORT) (?P<message>.*)"
)
_STATUS = {
    "IBV_WC_LOC_LEN_ERR": 1, "IBV_WC_LOC_QP_OP_ERR": 2, "IBV_WC_LOC_PROT_ERR": 4, "IBV_WC_WR_FLUSH_ERR": 5, "IBV_WC_BAD_RESP_ERR": 7,
    "IBV_WC_LOC_ACCESS_ERR": 8, "IBV_WC_REM_INV_REQ_ERR": 9, "IBV_WC_REM_ACCESS_ERR": 10, "IBV_WC_REM_OP_ERR": 11,
    "IBV_WC_RETRY_EXC_ERR": 12, "IBV_WC_RNR_RETRY_EXC_ERR": 13, "IBV_WC_REM_ABORT_ERR": 15, "IBV_WC_FATAL_ERR": 19,
    "IBV_WC_RESP_TIMEOUT_ERR": 20, "IBV_WC_GENERAL_ERR": 21,
}  # fmt: skip
_STATUS_NAMES = {number: name for name, number in _STATUS.items()}  # infiniband/verbs.h, enum ibv_wc_status

_WHAT = (
    ("closed_by_peer", "closed by remote peer"), ("no_route", "No route to host"), ("connection_refused", "Connection refused"),
    ("reset_by_peer", "Connection reset by peer"), ("timed_out", "timed out|timeout"), ("unreachable", "unreachable"),
    ("recv_failed", "recv .*failed|failed .*recv"), ("send_failed", "send .*failed"), ("connect_failed", "[Cc]onnect .*(?:failed|returned)"),
)  # fmt: skip


def _what(message: str) -> str:
    if "recv from" in message:
        return "recv_failed"
    return next((name for name, words in _WHAT if re.search(words, message)), "failed")


def _socket(found: re.Match[str], fields: Fields) -> Fields:
    return {**fields, "what": _what(found.string)}


def _completion(found: re.Match[str], fields: Fields) -> Fields:
    number = int(str(fields["status"]))
    return {**fields, "status": number, "status_name": _STATUS_NAMES.get(number, "")}


def _devices(found: re.Match[str], fields: Fields) -> Fields:
    devices = re.findall(r"\[\d+\](\S+?)(?=\s|;|$)", found.string)
    if devices:
        fields["devices"] = tuple(device for device in devices)
    if addr := re.search(r"([\w.-]+):([\da-f.:%\w]+?)<\d+>", found.string):
        fields.update(ifname=addr.group(1), addr=addr.group(2))
    return fields


def _hex(found: re.Match[str], fields: Fields) -> Fields:
    return {**fields, "op_count": int(found["op_count"], 16)}


def _errno(found: re.Match[str], fields: Fields) -> Fields:
    if "errno" not in fields and "No space left" in found.string:
        fields["errno"] = 28
    return fields


_PEER = r"(?P<peer>[\w.-]+|\[?[0-9a-f:%\w]+\]?)<(?P<port>\d+)>"
# What stands behind "NCCL WARN" or "NCCL INFO".
_MESSAGES = (
    pattern("nccl.version", r"^NCCL version (?P<version>\d+\.\d+(?:\.\d+)?)(?:\+(?:cuda|hip)(?P<cuda>[\d.]+))?"),
    pattern("nccl.bootstrap", r"^Bootstrap ?: Using (?P<ifname>[\w.@-]+):(?P<addr>[^<\s]+)<"),
    pattern("nccl.net_using", r"^(?:NET/(?P<net>[\w-]+) ?: Using|Using network (?P<net_>\w+))", lambda f, x: _devices(f, {"net": x.get("net") or x.get("net_")})),
    pattern("nccl.interface", r"^NET ?: Using interface (?P<ifname>[\w.@-]+):(?P<addr>[^<\s]+)<"),
    pattern("nccl.comm_init_start", r"(?:ncclCommInit\w+ )?comm (?P<comm>0x[0-9a-f]+) rank (?P<rank>\d+) nranks (?P<nranks>\d+) cudaDev (?P<cuda_dev>\d+)(?: nvmlDev \d+)? busId (?P<bus_id>[0-9a-f]+)(?: commId (?P<comm_id>0x[0-9a-f]+))?.* - Init START"),
    pattern("nccl.comm_init_complete", r"comm (?P<comm>0x[0-9a-f]+) rank (?P<rank>\d+) nranks (?P<nranks>\d+)(?: cudaDev (?P<cuda_dev>\d+))?(?: nvmlDev \d+)?(?: busId (?P<bus_id>[0-9a-f]+))?(?: commId (?P<comm_id>0x[0-9a-f]+))?.* - Init COMPLETE"),
    pattern("nccl.channel", r"^Channel \S+ ?: (?P<from>\d+)\[[0-9a-f]+\] -> (?P<to>\d+)\[[0-9a-f]+\] (?:\[\w+\] )?via (?P<via>\S+)"),
    pattern("nccl.coll", r"^(?P<op>\w+): opCount (?P<op_count>[0-9a-f]+) .*?count (?P<count>\d+) datatype (?P<datatype>\d+) .*?comm (?P<comm>0x[0-9a-f]+) \[nranks=(?P<nranks>\d+)\]", _hex),
    pattern("nccl.ib_completion", r"Got completion (?:from peer (?P<peer>[^<\s]+)<\d+> )?with (?:error |status=)(?:[A-Z_]+\()?(?P<status>\d+)\)?,? ?opcode[ =](?:[A-Z_]+\()?\d+\)?,? ?(?:len[ =]\d+,? ?)?vendor[ _]err[ =](?P<vendor_err>\d+)(?: \(?(?P<direction>Send|Recv)\)?)?(?:.* hca (?P<hca>\w+))?", _completion),
    pattern("nccl.ib_async_event", r"Got async (?:fatal )?event ?:? ?(?P<name>.*)"),
    pattern("nccl.no_interface", r"[Nn]o (?:socket )?interface found"),
    pattern("nccl.shm_error", r"(?:failed to extend|Error while (?:creating|attaching to) shared memory segment) (?P<path>[\w./-]+)(?: \(size (?P<size>\d+)\))?(?: to \d+ bytes)?.*?(?:\((?P<errno>\d+)\)|$)", _errno),
    pattern("nccl.shm_error", r"Call to (?P<call>posix_fallocate|shm_open|ftruncate|fallocate) failed ?: (?P<text>.*)", _errno),
    pattern("nccl.cuda_failure", r"Cuda failure (?:[\w./]+:\d+ )?'(?P<text>[^']*)'"),
    pattern("nccl.cuda_failure", r"Cuda failure (?P<code>\d+) '(?P<text>[^']*)'"),
    pattern("nccl.duplicate_gpu", r"Duplicate GPU detected ?: rank (?P<first>\d+) and rank (?P<second>\d+) both on CUDA device (?P<bus_id>[0-9a-f]+)"),
    pattern("nccl.maybe_hanging", r"[Yy]our program may be hanging, this may be caused by a collective mismatch around rank (?P<around>\d+)"),
    pattern("nccl.socket_error", r"(?:Connect(?:ion)? to|closed by remote peer|recv from|send to|connect to) " + _PEER, _socket),
    pattern("nccl.socket_error", r"Call to (?P<call>connect|recv|send|accept|bind|listen)\b.*?(?:failed|timeout|returned) ?: ?(?P<text>.*)", _socket),
)  # fmt: skip
# What other programs quote from NCCL, without its prefix.
_QUOTED = (
    pattern("nccl.version", r"^(?:NCCL|RCCL) version ?:? (?P<version>\d+\.\d+(?:\.\d+)?)(?:\+(?:cuda|hip)(?P<cuda>[\d.]+))?"),
    pattern("nccl.result", r"(?P<code>nccl(?:InvalidUsage|InvalidArgument|InternalError|SystemError|UnhandledCudaError|RemoteError|Timeout|InProgress))\b", None, last=False),
    pattern("nccl.duplicate_gpu", r"Duplicate GPU detected ?: rank (?P<first>\d+) and rank (?P<second>\d+) both on CUDA device (?P<bus_id>[0-9a-f]+)"),
)  # fmt: skip


class Reader:
    """Lines of NCCL itself, and the ``Last error:`` of exceptions that quote it."""

    def __init__(self) -> None:
        self._last_error: set[str] = set()

    @property
    def busy(self) -> bool:
        return bool(self._last_error)

    def feed(self, line: Line) -> Iterator[Event]:
        if line.source in self._last_error:
            self._last_error.discard(line.source)
            yield from self._quoted_error(line)
            return
        if line.text.strip() == "Last error:" and len(self._last_error) < 4096:
            self._last_error.add(line.source)
            return
        found = _PREFIX.search(line.text)
        if found is None:
            yield from _first(_QUOTED, line, line.text, {})
            return
        told = {name: value for name, value in _fields(found).items() if name in ("host", "pid", "gpu")}
        told.pop("rank", None)
        said = list(_first(_MESSAGES, line, found["message"], told))
        yield from said
        if not said and found["level"] in ("WARN", "ERROR", "ABORT"):
            yield event("nccl.warn", line, {**told, "text": found["message"]})

    def _quoted_error(self, line: Line) -> Iterator[Event]:
        said = list(_first(_MESSAGES, line, line.text.strip(), {}))
        peer = re.search(r"(?:from|peer|to) ([\w.-]+|[0-9a-f:]+)<(\d+)>", line.text)
        fields: Fields = {"what": _what(line.text), "text": line.text.strip()}
        if peer:
            fields.update(peer=peer.group(1), port=int(peer.group(2)))
        yield event("nccl.last_error", line, fields)
        yield from (item for item in said if item.event != "nccl.socket_error")

    def close(self) -> Iterable[Event]:
        return ()


def _first(table: Iterable[Pattern], line: Line, message: str, told: Fields) -> Iterator[Event]:
    for row in table:
        found = row.regex.search(message)
        if found is None:
            continue
        fields = _fields(found)
        shaped = row.shape(found, fields) if row.shape else fields
        yield event(row.event, line, {**told, **shaped})
        if row.last:
            return
