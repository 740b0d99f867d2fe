"""What a frame waits for, looked up: Python by (file, function), native code by function name.

A file is matched as a suffix of whole path components, so that a shortened or a full path both fit. One file here per family
of frames; ``grammar`` says how they are written.
"""

from __future__ import annotations

from . import frameworks, grammar, libraries, meetings, native_job, native_system, standard_library, torch
from .kinds import STRENGTH, WaitKind
from .standard_library import BUILTINS

__all__ = ["BUILTINS", "NATIVE", "PYTHON", "STRENGTH", "WaitKind"]

PYTHON = grammar.by_file(torch.TABLE + frameworks.TABLE + meetings.TABLE + libraries.TABLE + standard_library.TABLE)
# Native functions are given without arguments, template parameters and symbol versions.
NATIVE = grammar.by_kind(native_system.TABLE + native_job.TABLE)
