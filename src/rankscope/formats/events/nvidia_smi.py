"""``nvidia-smi``: use and memory per GPU, processes on GPUs, ``pmon``, values that cannot be read, and the matrix of ``topo -m``.

As a table, and as ``--query-gpu=…`` and ``--query-compute-apps=…`` print it with ``--format=csv`` where their header is there;
``gpustat`` says the same of NVML in one line per GPU.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...model.evidence.events import Event
from ...model.patterns import regex
from ..lines import Line
from ._table import event, fields_of

NAME = "nvidia-smi"
NEEDLES = (
    "MiB",
    "ERR!",
    "Off |",
    "On  |",
    "On |",
    "N/A |",
    "\tSYS",
    "\tNODE",
    "\tPHB",
    "\tPXB",
    "\tPIX",
    "\tNV",
    "utilization.gpu",
    "memory.used",
    "gpu_uuid",
    "gpu_bus_id",
    "MB |",
    "# gpu",
    "-     -",
)

_NAMED = regex(r"^\|\s+(?P<gpu>\d{1,3})\s+\S.*?(?:On|Off|N/A)\s+\|\s+[0-9A-Fa-f]{8}:[0-9A-Fa-f:.]+")
_LOAD = regex(
    r"^\|\s*(?P<first>(?=[^|\s])[^|]*|)\|\s*(?P<used_mib>\d+)MiB\s*/\s*(?P<total_mib>\d+)MiB\s*\|\s*(?P<util>\d+%|N/A|ERR!)"
)
_PROCESS = regex(
    r"^\|\s+(?P<gpu>\d{1,3})\s+(?:N/A\s+N/A\s+|\d+\s+\d+\s+)?(?P<pid>\d{1,10})\s+(?P<type>C\+G|C|G|M\+C)\s+(?P<name>\S.{0,300}?)\s{1,200}(?:(?P<used_mib>\d+)MiB|N/A)\s*\|$"
)
_PMON_HEAD = regex(r"^# gpu\s+pid\s+type\b")
# ``pmon``: one row per process on a GPU, or one with dashes for a GPU without any.
_PMON = regex(
    r"^(?P<gpu>\d{1,3})\s+(?P<pid>\d{1,10}|-)\s+(?P<type>C\+G|M\+C|C|G|-)\s+(?:[\d.]+\s+|-\s+){2,10}(?P<name>\S.{0,300}?)$"
)
_TOPO = regex(
    r"^(?P<gpu>GPU\d{1,3}|NIC\d{1,3}|mlx5_\d{1,3})\s+(?P<links>(?:X|SYS|NODE|PHB|PXB|PIX|NV\d+)(?:\s+(?:X|SYS|NODE|PHB|PXB|PIX|NV\d+))*)\b"
)
# gpustat: ``[0] NVIDIA A100 | 41°C, 100 % |  9015 / 40536 MB | user:python/9001(3003M) …``; pids with -p.
_GPUSTAT = regex(
    r"^\[(?P<gpu>\d{1,3})\] [^|]{1,100}\|[^|]{1,100}?(?P<util>\d{1,3}) %[^|]{0,60}"
    r"\|\s*(?P<used_mib>\d{1,9}) / (?P<total_mib>\d{1,9}) MB \|(?P<users>.*)$"
)
_USER = regex(r"(?<!\S)[^\s:]{1,64}:(?P<name>[^\s/]{1,200})/(?P<pid>\d{1,10})\((?P<used_mib>\d{1,9})M\)")
# Columns of --query-compute-apps that say what a row of processes says.
_APPS = {
    "gpu_uuid": "gpu",
    "gpu_bus_id": "gpu",
    "pid": "pid",
    "process_name": "name",
    "used_gpu_memory": "used_mib",
    "used_memory": "used_mib",
}
# Columns of --query-gpu (nvidia-smi --help-query-gpu) that say what the table says.
_COLUMNS = {"index": "gpu", "memory.used": "used_mib", "memory.total": "total_mib", "utilization.gpu": "util"}


class Reader:
    """A GPU has two rows: the first says which one it is, the second what it does."""

    def __init__(self) -> None:
        self._gpu: int | None = None
        self._fields: list[str] = []  # the columns of CSV, while its rows come
        self._pmon = False

    def feed(self, line: Line) -> Iterator[Event]:
        text = line.text.strip()
        if self._fields or any(name in text for name in ("utilization.gpu", "memory.used", "gpu_uuid", "gpu_bus_id")):
            yield from self._row(line, [cell.strip() for cell in text.split(",")])
        self._pmon = self._pmon or bool(_PMON_HEAD.match(text))
        if self._pmon and (found := _PMON.match(text)):
            if found["pid"] != "-":
                yield event("gpu.process", line, fields_of(found))
        elif found := _NAMED.match(text):
            self._gpu = int(found["gpu"])
        elif found := _LOAD.match(text):
            fields = {**fields_of(found), "gpu": self._gpu}
            util = found["util"]
            fields["util"] = int(util[:-1]) if util.endswith("%") else util
            fields.pop("first")
            yield event("gpu.load", line, fields)
        elif found := _PROCESS.match(text):
            yield event("gpu.process", line, fields_of(found))
        elif found := _GPUSTAT.match(text):
            fields = fields_of(found)
            users = str(fields.pop("users"))
            yield event("gpu.load", line, fields)
            for user in _USER.finditer(users):
                yield event("gpu.process", line, {**fields_of(user), "gpu": fields["gpu"]})
        elif found := _TOPO.match(text):
            yield event("gpu.topology", line, {"device": found["gpu"], "links": tuple(found["links"].split())})
        if "ERR!" in text and _LOAD.match(text):
            yield event("gpu.unreadable", line, {"gpu": self._gpu})

    def _row(self, line: Line, cells: list[str]) -> Iterator[Event]:
        """A line of CSV: the header opens a table, a line of another width ends it."""
        names = [cell.partition(" [")[0] for cell in cells]
        if {"utilization.gpu", "memory.used"} & set(names) or (
            "pid" in names and {"gpu_uuid", "gpu_bus_id"} & set(names)
        ):
            self._fields = names
        elif len(cells) != len(self._fields):
            self._fields = []
        elif "pid" in self._fields:
            row = {ours: cell for name, cell in zip(self._fields, cells) if (ours := _APPS.get(name))}
            yield event(
                "gpu.process",
                line,
                {key: _number(cell) if key in ("pid", "used_mib") else cell for key, cell in row.items()},
            )
        else:
            fields = {ours: _number(cell) for name, cell in zip(self._fields, cells) if (ours := _COLUMNS.get(name))}
            yield event("gpu.load", line, fields)

    @property
    def busy(self) -> bool:
        return bool(self._fields)

    def close(self) -> Iterable[Event]:
        return ()


def _number(cell: str) -> int | str:
    """The number before a unit; what is no number (``[N/A]``, ``ERR!``) as it is."""
    word = cell.split(" ")[0]
    return int(word) if word.isascii() and word.isdigit() and len(word) < 19 else word[:40]
