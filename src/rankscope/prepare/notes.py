"""What is noted of one call: operation, group, peer or root, reduction, size, and the lines of the job that made it."""

from __future__ import annotations

import itertools
import os
import runpy
import sys
from collections.abc import Mapping
from typing import Any

from ..model import calls_file as layout
from .ring import Ring

_OURS = os.path.dirname(os.path.abspath(__file__))
_TO = tuple(map(layout.OPS.index, ("send", "reduce", "gather")))  # their other end is a destination
_ROOT_IS_FIRST = tuple(map(layout.OPS.index, ("gather", "scatter")))  # where the caller names none
_MOST_FRAMES = 6
_MOST_DEPTH = 40
_MOST_SITES = 1500
_TENSORS = ("tensor", "input", "input_tensor", "output", "output_tensor")
_REDUCTIONS = {name: number for number, name in enumerate(layout.REDUCTIONS)}
_TYPES = {name: number for number, name in enumerate(layout.TYPES)}


class Notes:
    """Turns the arguments of calls into records."""

    def __init__(self, module: Any) -> None:
        self.ring = Ring()
        self._module = module
        torch = os.path.dirname(os.path.abspath(sys.modules["torch"].__file__ or "")) + os.sep
        self._foreign = (torch, _OURS, os.path.dirname(runpy.__file__) + os.sep + "runpy", "<frozen runpy>")
        self._counts: dict[Any, itertools.count[int]] = {}
        self._types: dict[Any, int] = {}
        self._sites = 0

    def begin(self, op: int, places: Mapping[str, int], args: Any, kwargs: Any, frame: Any) -> int:
        """Note a call that begins; give its number, 0 where there is nothing to note."""

        def given(name: str) -> Any:
            place = places.get(name, -1)
            return args[place] if 0 <= place < len(args) else kwargs.get(name)

        pg = given("group")
        if pg is None:
            pg = self._module.GroupMember.WORLD
        group, ranks = self._group(pg)
        tensor = next((one for one in map(given, _TENSORS) if hasattr(one, "numel")), None)
        message = op <= 2
        end = self._end(given, "dst" if op in _TO else "src", ranks)
        if end < 0 and op in _ROOT_IS_FIRST:
            end = ranks.get(0, -1)
        tag = int(given("tag") or 0) if message else 0
        key = (group, op, end, tag) if message else group
        count = self._counts.get(key)
        if count is None:
            count = self._counts[key] = itertools.count(1)
        return self.ring.begin(
            op, group, self._site(frame), end if message else -1,
            -1 if message else end, next(count), tag, tensor.numel() if tensor is not None else 0,
            self._reduction(given, places), self._dtype(tensor),
        )  # fmt: skip

    def _group(self, pg: Any) -> tuple[int, Mapping[int, int]]:
        world = self._module._world
        name, ranks = world.pg_names[pg], world.pg_group_ranks[pg]
        key = (name, id(pg))
        number = self.ring.knows("group", key)
        if number is None:
            backend = str(world.pg_map[pg][0])
            told = {"name": name, "desc": getattr(pg, "group_desc", ""), "backend": backend, "ranks": list(ranks)}
            number = self.ring.text("group", key, told)
        return number, ranks

    @staticmethod
    def _end(given: Any, name: str, ranks: Mapping[int, int]) -> int:
        """The peer or root as a rank of the group, -1 where the call has none or takes any."""
        own = given("group_" + name)
        if own is not None:
            return int(own)
        world = given(name)
        return ranks.get(int(world), -1) if world is not None else -1

    @staticmethod
    def _reduction(given: Any, places: Mapping[str, int]) -> int:
        if "op" not in places:
            return 0
        wanted = given("op")
        if wanted is None:
            return _REDUCTIONS["SUM"]
        named = getattr(wanted, "name", None) or str(wanted)
        return _REDUCTIONS.get(str(named).rpartition(".")[2], 0)

    def _dtype(self, tensor: Any) -> int:
        if tensor is None:
            return 0
        known = self._types.get(tensor.dtype)
        if known is None:
            known = self._types[tensor.dtype] = _TYPES.get(str(tensor.dtype), 0)
        return known

    def _site(self, frame: Any) -> int:
        """The job's own lines above a call; each different path is written once."""
        chain: list[tuple[Any, int]] = []
        depth = 0
        while frame is not None and len(chain) < _MOST_FRAMES and depth < _MOST_DEPTH:
            if not frame.f_code.co_filename.startswith(self._foreign):
                chain.append((frame.f_code, frame.f_lineno))
            frame, depth = frame.f_back, depth + 1
        key = tuple(chain)
        known = self.ring.knows("site", key)
        if known is None:
            if self._sites >= _MOST_SITES:
                return 0
            self._sites += 1
            known = self.ring.text("site", key, [
                [getattr(code, "co_qualname", code.co_name), code.co_filename, line] for code, line in chain
            ])  # fmt: skip
        return known
