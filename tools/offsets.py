"""Write or check the offset tables in ``rankscope/memory/layouts`` from an interpreter's own headers.

    python tools/offsets.py PREFIX...           print the table of each interpreter installed under PREFIX
    python tools/offsets.py --write PREFIX...   write them into the source tree
    python tools/offsets.py --check PREFIX...   compare with the source tree; exit 1 when one differs

PREFIX is where ``include/python3.N/internal`` lies. A C compiler measures; nothing is typed by hand but the names below.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

LAYOUTS = Path(__file__).parents[1] / "src" / "rankscope" / "memory" / "layouts"

RUNTIME, INTERP, THREAD, CODE, GIL = (
    "_PyRuntimeState", "PyInterpreterState", "PyThreadState", "PyCodeObject", "struct _gil_runtime_state",
)  # fmt: skip
NONE = "-1L"


def at(structure: str, field: str) -> str:
    return f"(long)offsetof({structure}, {field})"


def fields(minor: int) -> dict[str, str]:
    """Name of each offset and the C expression that measures it."""
    old = minor <= 10
    frame = "PyFrameObject" if old else "_PyInterpreterFrame"
    first = {
        8: "f_lasti", 9: "f_lasti", 10: "f_lasti", 11: "prev_instr", 12: "prev_instr",
    }.get(minor, "instr_ptr")  # fmt: skip
    code_field = "f_executable" if minor >= 13 else "f_code"
    threads = "tstate_head" if old else "threads.head"
    wide_int = "long_value." if minor >= 12 else ""
    return {
        "runtime_head": at(RUNTIME, "interpreters.head"),
        "runtime_finalizing": at(RUNTIME, "finalizing" if minor == 8 else "_finalizing"),
        "runtime_gil": at(RUNTIME, "ceval.gil") if minor <= 11 else NONE,
        "interp_next": at(INTERP, "next"),
        "interp_threads": at(INTERP, threads),
        "interp_modules": at(INTERP, "modules" if minor <= 11 else "imports.modules"),
        "interp_gil": at(INTERP, "ceval.gil") if minor >= 12 else NONE,
        "gil_size": f"(long)sizeof({GIL})",
        "gil_holder": at(GIL, "last_holder"),
        "gil_locked": at(GIL, "locked"),
        "thread_size": f"(long)sizeof({THREAD})" if old else at(THREAD, "native_thread_id") + " + 8",
        "thread_next": at(THREAD, "next"),
        "thread_interp": at(THREAD, "interp"),
        "thread_frame": at(THREAD, "frame" if old else "cframe" if minor <= 12 else "current_frame"),
        "thread_ident": at(THREAD, "thread_id"),
        "thread_native": at(THREAD, "native_thread_id") if not old else NONE,
        "cframe_frame": at("_PyCFrame", "current_frame") if minor in (11, 12) else NONE,
        "thread_caught": at(THREAD, "exc_info"),
        "caught_error": at("_PyErr_StackItem", "exc_value"),
        "caught_before": at("_PyErr_StackItem", "previous_item"),
        "error_number": at("PyOSErrorObject", "myerrno"),
        "frame_size": at(frame, "f_lasti") + " + 4" if old else at(frame, "localsplus"),
        "frame_back": at(frame, "f_back" if old else "previous"),
        "frame_code": at(frame, code_field),
        "frame_instruction": at(frame, first),
        "frame_owner": at(frame, "owner") if not old else NONE,
        "frame_globals": at(frame, "f_globals"),
        "frame_values": at(frame, "f_localsplus" if old else "localsplus"),
        "frame_stack": at(frame, "f_valuestack") if old else NONE,
        "frame_stack_top": at(frame, "f_stackdepth" if minor == 10 else "f_stacktop" if old else "stacktop"),
        "code_size": at(CODE, "co_zombieframe") if old else at(CODE, "co_code_adaptive"),
        "code_file": at(CODE, "co_filename"),
        "code_name": at(CODE, "co_name" if old else "co_qualname"),
        "code_names": at(CODE, "co_names"),
        "code_first_line": at(CODE, "co_firstlineno"),
        "code_lines": at(CODE, "co_lnotab" if minor <= 9 else "co_linetable"),
        "code_instructions": at(CODE, "co_code_adaptive") if not old else NONE,
        "code_bytes": at(CODE, "co_code") if old else NONE,
        "code_stack_size": at(CODE, "co_stacksize"),
        "code_local_count": at(CODE, "co_nlocals") if old else NONE,
        "code_local_names": at(CODE, "co_varnames" if old else "co_localsplusnames"),
        "code_local_kinds": at(CODE, "co_localspluskinds") if not old else NONE,
        "code_cells": at(CODE, "co_cellvars") if old else NONE,
        "code_frees": at(CODE, "co_freevars") if old else NONE,
        "object_type": at("PyObject", "ob_type"),
        "sized_size": at("PyVarObject", "ob_size"),
        "type_name": at("PyTypeObject", "tp_name"),
        "type_flags": at("PyTypeObject", "tp_flags"),
        "type_call": at("PyTypeObject", "tp_call"),
        "type_dict_offset": at("PyTypeObject", "tp_dictoffset"),
        "type_keys": at("PyHeapTypeObject", "ht_cached_keys"),
        "text_length": at("PyASCIIObject", "length"),
        "text_state": at("PyASCIIObject", "state"),
        "text_ascii": "(long)sizeof(PyASCIIObject)",
        "text_wide": "(long)sizeof(PyCompactUnicodeObject)",
        "text_kind_shift": "kind_shift()",
        "bytes_data": at("PyBytesObject", "ob_sval"),
        "tuple_items": at("PyTupleObject", "ob_item"),
        "list_items": at("PyListObject", "ob_item"),
        "int_size": at("PyLongObject", "long_value.lv_tag" if minor >= 12 else "ob_base.ob_size"),
        "int_digits": at("PyLongObject", f"{wide_int}ob_digit"),
        "float_value": at("PyFloatObject", "ob_fval"),
        "dict_used": at("PyDictObject", "ma_used"),
        "dict_keys": at("PyDictObject", "ma_keys"),
        "dict_values": at("PyDictObject", "ma_values"),
        "cell_value": at("PyCellObject", "ob_ref"),
        # The module record is private to its C file up to 3.10; its dict always comes first.
        "module_dict": "(long)sizeof(PyObject)",
        "coroutine_frame": at("PyCoroObject", "cr_frame" if old else "cr_iframe"),
        "coroutine_state": at("PyCoroObject", "cr_frame_state") if not old else NONE,
        "set_mask": at("PySetObject", "mask"),
        "set_table": at("PySetObject", "table"),
        "weakref_object": at("PyWeakReference", "wr_object"),
        "method_self": at("PyMethodObject", "im_self"),
        "function_code": at("PyFunctionObject", "func_code"),
    }


HEADERS = {
    8: "pycore_pystate.h frameobject.h code.h",
    9: "pycore_runtime.h pycore_interp.h frameobject.h code.h",
    10: "pycore_runtime.h pycore_interp.h frameobject.h code.h",
}
NEW_HEADERS = "pycore_runtime.h pycore_interp.h pycore_frame.h pycore_code.h pycore_dict.h"


def program(minor: int) -> str:
    """The C program that prints one ``name value`` a line."""
    headers = HEADERS.get(minor, NEW_HEADERS).split()
    includes = "\n".join(f'#include "{"internal/" if h.startswith("pycore") else ""}{h}"' for h in headers)
    prints = "\n".join(f'    printf("{name} %ld\\n", {expr});' for name, expr in fields(minor).items())
    return f"""#define Py_BUILD_CORE 1
#include "Python.h"
#include <stddef.h>
#include <stdio.h>
{includes}
static long kind_shift(void) {{
    PyASCIIObject text;
    memset(&text, 0, sizeof text);
    text.state.kind = 1;
    unsigned bits;
    memcpy(&bits, &text.state, sizeof bits);
    return __builtin_ctz(bits);
}}
int main(void) {{
{prints}
    return 0;
}}
"""


def measure(include: Path, minor: int) -> dict[str, int]:
    """Compile the program against the headers and run it."""
    with tempfile.TemporaryDirectory() as folder:
        source, binary = Path(folder, "offsets.c"), Path(folder, "offsets")
        text = program(minor)
        if minor == 11 and "_PyCFrame" not in Path(include, "cpython", "pystate.h").read_text():
            text = text.replace("_PyCFrame", "CFrame")  # renamed between patch releases
        source.write_text(text)
        subprocess.run(
            ["cc", "-w", f"-I{include}", f"-I{include}/internal", "-o", str(binary), str(source)], check=True
        )
        out = subprocess.run([str(binary)], check=True, capture_output=True, text=True).stdout
    return {name: int(value) for name, value in (line.split() for line in out.splitlines())}


def calls(include: Path) -> tuple[int, ...]:
    """The numbers of the instructions that call something, those that the interpreter makes of them included."""
    text = "".join(path.read_text() for path in (include / "opcode.h", include / "opcode_ids.h") if path.exists())
    found = re.findall(r"#define (?:INSTRUMENTED_|PRE)?CALL(?!_INTRINSIC|_FINALLY)\w* +(\d+)", text)
    return tuple(sorted(map(int, found)))


def render(minor: int, offsets: dict[str, int], numbers: tuple[int, ...]) -> str:
    """The table as a module of its own."""
    lines = "LNOTAB" if minor <= 9 else "RANGES" if minor == 10 else "LOCATIONS"
    attributes = {11: "BEFORE", 12: "TAGGED"}.get(minor, "DICT" if minor <= 10 else "INLINE")
    more = (
        "\n\nMost of them each process tells itself (_Py_DebugOffsets, see own.py); the rest are taken from here.\n"
        if minor >= 13
        else ""
    )
    body = "".join(f"    {name}={value},\n" for name, value in offsets.items())
    body += f'    call_instructions="{" ".join(map(str, numbers))}",\n'
    return f'''"""Offsets of CPython 3.{minor} on 64-bit Linux, measured by tools/offsets.py.{more}"""

from __future__ import annotations

from .layout import Attributes, Layout, Lines

LAYOUT = Layout(
    version=(3, {minor}),
    lines=Lines.{lines},
    attributes=Attributes.{attributes},
{body})
'''


def main() -> int:
    """Print, write or check the tables of the given prefixes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prefixes", nargs="+", type=Path, metavar="PREFIX")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--write", action="store_true")
    mode.add_argument("--check", action="store_true")
    options = parser.parse_args()
    differing = 0
    for prefix in options.prefixes:
        for include in sorted(prefix.glob("include/python3.*")):
            minor = int(re.sub(r"\D.*", "", include.name.partition(".")[2]))
            if not 8 <= minor <= 13:
                continue
            text, path = render(minor, measure(include, minor), calls(include)), LAYOUTS / f"py3{minor}.py"
            if options.write:
                path.write_text(text)
            elif options.check:
                differing += _differs(path, text)
            else:
                print(text)
    return 1 if differing else 0


def _differs(path: Path, text: str) -> bool:
    same = path.exists() and path.read_text() == text
    print(f"{path.name}: {'as measured' if same else 'DIFFERS'}")
    return not same


if __name__ == "__main__":
    sys.exit(main())
