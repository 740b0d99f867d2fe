"""``python -m rankscope.prepare [-m] PROGRAM ARGUMENTS…``: run a program prepared."""

from __future__ import annotations

import os
import runpy
import sys


def main() -> None:
    """Run the program as ``python`` would; the package itself has prepared everything when this is imported."""
    arguments = sys.argv[1:]
    as_module = arguments[:1] == ["-m"]
    arguments = arguments[as_module:]
    if not arguments:
        sys.exit("usage: python -m rankscope.prepare [-m] PROGRAM ARGUMENTS…")
    sys.argv = arguments
    if as_module:
        runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = os.path.dirname(os.path.abspath(arguments[0]))
        runpy.run_path(arguments[0], run_name="__main__")


main()
