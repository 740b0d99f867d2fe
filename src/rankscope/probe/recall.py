"""What was learned before a child was left behind, read back from the lines it had sent, for the child that takes over.

The reader of snapshots does the same with more care and with a library that a node may not have. These lines are our own,
of a moment ago, so each value is taken for what its field says it is.
"""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import json
import sys
from dataclasses import dataclass, field
from typing import Any

from ..model.evidence import kind
from ..model.evidence.stacks import Frame, Stack
from ..model.process import ProcessRef

# How lines begin (``wire``): those of a sweep go with it, but evidence may be what a later one calls the same.
_SWEEP, _GAP = b'{"is":"sweep"', b'{"is":"gap"'
_LASTING = (b'{"is":"stack"', b'{"is":"evidence"')
_DATA = b',"data":'  # behind the kind and the process


@dataclass
class Recall:
    """The last record of each kind and process, those of the last sweep, when that began, and who was there."""

    records: dict[tuple[ProcessRef, str], Any] = field(default_factory=dict)
    seen: dict[ProcessRef, dict[str, Any]] = field(default_factory=dict)
    began_s: float = 0.0
    present: frozenset[ProcessRef] | None = None
    _heard: dict[bytes, bytes] = field(default_factory=dict)
    _stacks: dict[int, Stack] = field(default_factory=dict)

    def hear(self, said: bytes) -> None:
        """Keep what was said until somebody asks: of a long look, the last of each kind and process and what it refers to."""
        for line in said.splitlines():
            if line.startswith(_GAP):
                continue
            if line.startswith(_SWEEP):
                self._heard = {about: kept for about, kept in self._heard.items() if kept.startswith(_LASTING)}
            about = line.partition(_DATA)[0]
            self._heard.pop(about, None)  # so that it comes behind the sweep that it belongs to
            self._heard[about] = line

    def understand(self) -> None:
        """Take what was heard since; a line that cannot be read back is not remembered."""
        for line in self._heard.values():
            with contextlib.suppress(ValueError, TypeError, KeyError, IndexError, AttributeError):
                self._take(json.loads(line))
        self._heard.clear()

    def _take(self, line: dict[str, Any]) -> None:
        what = line["is"]
        if what == "sweep":
            self.began_s = line["at_s"]
            self.seen.clear()
        elif what == "present":
            self.present = frozenset(map(ProcessRef.parse, line["processes"]))
        elif what == "stack":
            self._stacks[line["id"]] = Stack(Frame(*parts) for parts in line["frames"])
        elif what in ("evidence", "same") and "process" in line:
            ref, name = ProcessRef.parse(line["process"]), line["of"]
            if what == "evidence":
                self.records[ref, name] = self._record(line["data"], kind(name))
            self.seen.setdefault(ref, {})[name] = self.records[ref, name]

    def _record(self, body: dict[str, Any], cls: Any) -> Any:
        names = vars(sys.modules[cls.__module__])
        types = {each.name: str(each.type) for each in dataclasses.fields(cls)}
        return cls(**{name: self._value(value, types[name], names) for name, value in body.items()})

    def _value(self, value: Any, written: str, names: dict[str, Any]) -> Any:
        """A value as its field is annotated: ``tuple[Frame, ...]``, ``Mapping[str, int]``, ``int | None``."""
        if value is None:
            return None
        outer, _, inner = written.partition(" | ")[0].partition("[")
        inner = inner[: -len("]")]
        if outer == "tuple":
            return tuple(self._value(item, inner.partition(", ...")[0], names) for item in value)
        if outer == "Mapping":
            return {key: self._value(item, inner.partition(", ")[2], names) for key, item in value.items()}
        cls = names.get(outer)
        if cls is Stack:
            return self._stacks[value]
        if isinstance(cls, type) and issubclass(cls, enum.Enum):
            return cls(value)
        return self._record(value, cls) if dataclasses.is_dataclass(cls) else value
