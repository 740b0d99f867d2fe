"""The file in which a prepared process notes its calls: a header, a region of text, a ring of records of one size.

``rankscope.prepare`` writes it inside the job, the collector ``calls`` reads it from outside, at any moment. A record's
number is written last and the header's count first, so that a half-written record is told by its number.
"""

from __future__ import annotations

import struct

SUFFIX = ".rankscope-calls"
MAGIC = b"RKSCALL\n"
VERSION = 1

# magic, version, record size, capacity, size of the text, pid, start time (ticks), records begun, text used
HEADER = struct.Struct("<8sIIIIqqqq")
HEADER_SIZE = 128
BEGUN_AT, TEXT_USED_AT = 40, 48
# entered, waited, left (ns), elements, number in its group or pair, tag; group, site; peer, root; reduction, type; op, flags;
# two spare words; number
RECORD = struct.Struct("<qqqqqqIIiihhHHIIQ")
WAITED_AT, LEFT_AT, FLAGS_AT = 8, 16, 70
CAPACITY = 4096
TEXT_SIZE = 256 << 10
FILE_SIZE = HEADER_SIZE + TEXT_SIZE + CAPACITY * RECORD.size

OPS = (
    "", "send", "recv", "all_reduce", "broadcast", "reduce", "all_gather", "all_gather_into_tensor", "gather", "scatter",
    "reduce_scatter", "reduce_scatter_tensor", "all_to_all", "all_to_all_single", "barrier", "monitored_barrier",
)  # fmt: skip
REDUCTIONS = ("", "SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR", "PREMUL_SUM")
# torch's own names for types, and those its recorder uses.
TYPES = {
    "": "", "torch.float32": "Float", "torch.float64": "Double", "torch.float16": "Half", "torch.bfloat16": "BFloat16",
    "torch.int64": "Long", "torch.int32": "Int", "torch.int16": "Short", "torch.int8": "Char", "torch.uint8": "Byte",
    "torch.bool": "Bool", "torch.complex64": "ComplexFloat", "torch.complex128": "ComplexDouble",
}  # fmt: skip
POSTED = 1  # it returned, and goes on by itself
