"""What the program calls its threads: ``threading.Thread.name``, found through the frame every such thread begins with."""

from __future__ import annotations

import struct

from ..model.evidence.stacks import Frame
from . import dicts, modules
from .frames import RawFrame
from .interpreter import ThreadState
from .objects import U32, Objects, int_shape
from .runtime import Family
from .source import Unreadable

NAME_LIMIT = 100
_FILE = "/threading.py"
_BOOTSTRAP = ("_bootstrap", "Thread._bootstrap")
_MODULE = "threading"


class Names:
    """Reads thread names of one process."""

    def __init__(self, objects: Objects, family: Family) -> None:
        self._objects, self._family = objects, family
        self._registry: dict[int, int] | None = None

    def of(self, state: ThreadState, root: RawFrame | None, frame: Frame | None) -> str | None:
        """The name of a thread whose outermost frame is ``root``; None when the program gave it none."""
        try:
            thread = self._thread(root, frame) or self._registered(state)
            name = dicts.attribute(self._objects, thread, "_name") if thread else 0
            return self._objects.text(name, NAME_LIMIT) if name else None
        except (Unreadable, struct.error):
            return None

    def _thread(self, root: RawFrame | None, frame: Frame | None) -> int:
        """The Thread object: ``self`` of the frame every started thread begins with."""
        if root is None or frame is None or frame.function not in _BOOTSTRAP or not frame.file.endswith(_FILE):
            return 0
        return self._objects.pointer(root.address + self._objects.layout.frame_values) & ~7

    def _registered(self, state: ThreadState) -> int:
        """The Thread object under its ident in ``threading._active``; the main thread is found there only."""
        if self._registry is None:
            self._registry = dict(self._active(state.interpreter))
        return self._registry.get(state.ident, 0)

    def _active(self, interpreter: int) -> list[tuple[int, int]]:
        where = self._family.names.get("threading._active", 0)
        if not self._is_dict(where):
            where = self._find_active(interpreter)
        if not self._is_dict(where):
            return []
        self._family.names["threading._active"] = where
        return [(self._ident(key), value) for key, value in dicts.entries(self._objects, where, 4096)]

    def _is_dict(self, address: int) -> bool:
        objects = self._objects
        return bool(address) and objects.type_name(objects.pointer(address + objects.layout.object_type)) == "dict"

    def _ident(self, key: int) -> int:
        layout = self._objects.layout
        raw = self._objects.memory.read_some(key, layout.int_digits + 12)
        digits = range(min(int_shape(layout, raw)[0], 3))
        return sum(int(U32(raw, layout.int_digits + 4 * place)[0]) << 30 * place for place in digits)

    def _find_active(self, interpreter: int) -> int:
        namespace = modules.namespace(self._objects, interpreter, _MODULE)
        return dicts.lookup(self._objects, namespace, "_active", 512) if namespace else 0
