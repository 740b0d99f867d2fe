"""Where things lie in an interpreter's memory: the noun every reader here works from."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Lines(enum.Enum):
    """How a code object tells the line of an instruction."""

    LNOTAB = "lnotab"  # up to 3.9: pairs of byte and line steps
    RANGES = "ranges"  # 3.10: pairs of range length and line step (PEP 626)
    LOCATIONS = "locations"  # 3.11 and later: variable-length entries with columns (PEP 657)


class Attributes(enum.Enum):
    """Where an instance keeps its attributes."""

    DICT = "dict"  # up to 3.10: a pointer to a dict at tp_dictoffset
    BEFORE = "before"  # 3.11: a pointer to bare values and one to a dict, both before the object
    TAGGED = "tagged"  # 3.12: one pointer before the object, its lowest bit tells which
    INLINE = "inline"  # 3.13 and later: bare values behind the object until a dict is asked for


@dataclass(frozen=True)
class Layout:
    """Offsets in bytes inside the structures of one CPython version; -1 where a version has no such thing.

    Named ``<structure>_<field>``; ``*_size`` of a structure is how much of it to read at once.
    """

    version: tuple[int, int]
    lines: Lines
    attributes: Attributes
    runtime_head: int  # the newest interpreter
    runtime_finalizing: int
    runtime_gil: int  # the GIL itself, up to 3.11
    interp_next: int
    interp_threads: int
    interp_modules: int
    interp_gil: int  # a pointer to the GIL, from 3.12
    gil_size: int
    gil_holder: int
    gil_locked: int
    thread_size: int
    thread_next: int
    thread_interp: int
    thread_frame: int
    thread_ident: int
    thread_native: int  # the kernel's thread id, from 3.11
    cframe_frame: int  # 3.11 and 3.12: thread_frame leads to a small record that leads to the frame
    thread_caught: int  # a pointer to the innermost record of what is being handled
    caught_error: int
    caught_before: int  # the record around it: that of the caller of a generator
    error_number: int  # of an OSError
    frame_size: int  # without its values
    frame_back: int
    frame_code: int
    frame_instruction: int  # up to 3.10 an index, then a pointer
    frame_owner: int
    frame_globals: int
    frame_values: int
    frame_stack: int  # up to 3.10: a pointer to the value stack, which then lies behind the values
    frame_stack_top: int  # a pointer up to 3.9, a count in 3.10, then an index from the values on
    code_size: int
    code_file: int
    code_name: int  # the qualified name from 3.11
    code_names: int  # co_names: what its instructions call globals and attributes
    code_first_line: int
    code_lines: int
    code_instructions: int  # from 3.11 they follow the record
    code_bytes: int  # up to 3.10: the instructions, an object of their own
    code_stack_size: int
    code_local_count: int  # up to 3.10: co_nlocals
    code_local_names: int  # co_varnames, then co_localsplusnames
    code_local_kinds: int
    code_cells: int
    code_frees: int
    object_type: int
    sized_size: int
    type_name: int
    type_flags: int
    type_call: int
    type_dict_offset: int
    type_keys: int
    text_length: int
    text_state: int
    text_ascii: int  # where the characters of an ASCII string begin
    text_wide: int  # where those of any other begin
    text_kind_shift: int
    bytes_data: int
    tuple_items: int
    list_items: int
    int_size: int  # a signed count of digits, from 3.12 a tag
    int_digits: int
    float_value: int
    dict_used: int
    dict_keys: int
    dict_values: int
    cell_value: int
    module_dict: int
    coroutine_frame: int  # a pointer up to 3.10, then the frame itself
    coroutine_state: int  # from 3.11; below 0 is suspended
    set_mask: int
    set_table: int
    weakref_object: int
    method_self: int
    function_code: int
    call_instructions: str  # the numbers of all that call something, 3.11 and later with their quickened forms
    free_threaded: bool = False
