"""A file system whose server takes every read and never answers: run with the directory to mount on (root only).

Every name exists as a file of 1 MiB; it can be looked up and opened. With ``writes`` behind the directory it is the writes that
get no answer, and what is read are zeros; then the server ends soon, for who maps such a file may hold up all who list processes.
The kernel's FUSE protocol is spoken directly (fuse(4), linux/fuse.h), so that no library is needed. Unmounting with force fails
the calls that wait.
"""

import ctypes
import os
import signal
import struct
import sys

LOOKUP, FORGET, GETATTR, OPEN, RELEASE, FLUSH, INIT = 1, 2, 3, 14, 18, 25, 26
OPENDIR, RELEASEDIR, ACCESS, INTERRUPT, BATCH_FORGET = 27, 29, 34, 36, 42
READ, WRITE, ENOSYS = 15, 16, 38


def about(node):
    mode = 0o40755 if node == 1 else 0o100755
    return struct.pack("<6Q10I", node, 1 << 20, 2048, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


def answer(kind, node):
    """The payload of a reply: bytes, an error number, or None for no reply at all."""
    if kind == INIT:
        return struct.pack("<4I2H2I2H8I", 7, 31, 65536, 0, 16, 12, 1 << 17, 1, 32, 0, *[0] * 8)
    if kind == LOOKUP:
        return struct.pack("<4Q2I", 2, 0, 0, 0, 0, 0) + about(2)
    if kind == GETATTR:
        return struct.pack("<Q2I", 0, 0, 0) + about(node)
    if kind in (OPEN, OPENDIR):
        return struct.pack("<Q2I", 1, 0, 0)
    if kind in (FLUSH, RELEASE, RELEASEDIR):
        return b""
    return None if kind in (READ, WRITE, FORGET, BATCH_FORGET, INTERRUPT) else ENOSYS


def zeros(request):
    """The payload of an answer to a read (struct fuse_read_in behind the header of 40 bytes)."""
    return bytes(struct.unpack_from("<2QI", request, 40)[2])


def serve(folder, dead="reads"):
    if dead == "writes":
        signal.alarm(60)
    device = os.open("/dev/fuse", os.O_RDWR)
    options = b"fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other" % device
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"server:/export", os.fsencode(folder), b"fuse", 6, options):
        raise OSError(ctypes.get_errno(), "mount", folder)
    while True:
        try:
            request = os.read(device, 1 << 20)
        except OSError:
            return
        _, kind, unique, node = struct.unpack_from("<2I2Q", request)
        payload = zeros(request) if kind == READ and dead == "writes" else answer(kind, node)
        if payload is not None:
            error, data = (-payload, b"") if isinstance(payload, int) else (0, payload)
            os.write(device, struct.pack("<IiQ", 16 + len(data), error, unique) + data)


if __name__ == "__main__":
    serve(*sys.argv[1:])
