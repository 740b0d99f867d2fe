"""A program to be read: stands still in a shape given by name, and says itself what its stacks are.

    python target.py SHAPE...

The first shape is that of the main thread, each other one that of a thread with its name.
Runs on every Python from 3.8 on. It prints one line of JSON: for each thread its native id, its name and its frames
(root first) as the interpreter itself sees them. Then it waits for its standard input to close.
"""

import ast
import asyncio
import ctypes
import functools
import json
import os
import sys
import threading
import time

HELD = threading.Lock()
HELD.acquire()
ARRIVED = []


def block():
    # One line, so that the moments before and after the call have the same number.
    return ARRIVED.append(1) or HELD.acquire()


def plain():
    block()


def deep():
    sys.setrecursionlimit(5000)
    _down(900)


def _down(left):
    if left:
        return _down(left - 1)
    return block()


def many_threads():
    for number in range(199):
        threading.Thread(target=_down, args=(number % 7,), name=f"t{number}", daemon=True).start()
    block()


def generators():
    for _ in _outer():
        pass


def _outer():
    yield from _inner()


def _inner():
    yield from (block() for _ in range(3))


def coroutines():
    async def leaf():
        block()

    async def middle():
        await leaf()

    async def root():
        await asyncio.gather(middle())

    asyncio.run(root())


def async_generators():
    async def numbers():
        for number in range(3):
            block()
            yield number

    async def root():
        async for _ in numbers():
            pass

    asyncio.run(root())


def through_c():
    sorted([3, 1, 2], key=lambda number: functools.reduce(lambda a, b: block(), [1, 2, number]))


def called_back():
    # Through a C extension that is no builtin, and back.
    compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
    numbers = (ctypes.c_int * 2)(2, 1)
    ctypes.CDLL(None).qsort(numbers, 2, ctypes.sizeof(ctypes.c_int), compare(lambda a, b: block()))


def lambdas():
    (lambda: (lambda number: [each(number) for each in (lambda n: block(),)])(1))()


def executed():
    source = "\n" * 41 + "def made(a):\n    b = a\n    block(\n    )\n\nmade(\n  1)\n"
    exec(compile(source, "<made up>", "exec"), {"block": block})


def far_down():
    lines = ["def far():", *[f"    x = {number}" for number in range(20_000)], "    block()", "far()"]
    exec(compile("\n".join(lines), "far.py", "exec"), {"block": block})


def jumping_lines():
    tree = ast.parse("def jump():\n    a = 1\n    if a:\n        block()\n    return a\njump()")
    for node in ast.walk(tree):
        if getattr(node, "lineno", 0) == 4:
            node.lineno = node.end_lineno = 1_000_000
    exec(compile(tree, "jump.py", "exec"), {"block": block})


def multi_line():
    print(
        len(
            str(
                block()
            )
        ),
    )  # fmt: skip


def decorated():
    def twice(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            function(*args, **kwargs)
            return function(*args, **kwargs)

        return wrapper

    @twice
    @twice
    def inner(number, *, key=None):
        block()

    inner(1, key=2)


def größe_日本():
    def λ_функция():
        block()

    λ_функция()


def wide_frame():
    names = [f"v{number}" for number in range(1500)]
    source = "def wide():\n" + "".join(f"    {name} = {n}\n" for n, name in enumerate(names)) + "    narrow()\n"
    space = {"narrow": plain}
    exec(source + "wide()", space)


def handlers():
    try:
        raise ValueError("x")
    except ValueError:
        try:
            pass
        finally:
            with threading.Lock():
                block()


def class_body():
    class Outer:
        class Inner:
            value = [block() for _ in range(1)]


def finalizer():
    class Last:
        def __del__(self):
            block()

    last = Last()
    del last


def comprehension():
    return {key: [block() for _ in range(2)] for key in range(2)}


def properties():
    class Thing:
        @property
        def value(self):
            return block()

        def __getattr__(self, name):
            return self.value

        def __enter__(self):
            return self.missing

        def __exit__(self, *_):
            pass

    with Thing():
        pass


def tracing():
    def tracer(frame, event, argument):
        return tracer

    sys.settrace(tracer)
    plain()


def busy():
    """Never stands still: the stack changes all the time, and is always one of these."""
    ARRIVED.append(1)
    while True:
        for name in "abcdefgh":
            BUSY[name](3)


def dozing():
    """Wakes and sleeps all the time, at a different depth each time."""
    ARRIVED.append(1)
    depth = 0
    while True:
        depth = (depth + 1) % 40
        _doze(depth, depth)


def _doze(left, depth):
    if left:
        return _doze(left - 1, depth)
    return time.sleep(0.0001 * (depth % 5))


def name_of(code):
    return getattr(code, "co_qualname", code.co_name)


def own_view(skip):
    names = {thread.ident: (thread.native_id, thread.name) for thread in threading.enumerate()}
    view = []
    for ident, frame in sys._current_frames().items():
        if ident == skip:
            continue
        frames = []
        while frame:
            code = frame.f_code
            frames.append([name_of(code), code.co_filename, frame.f_lineno or 0])
            frame = frame.f_back
        native, name = names[ident]
        view.append({"tid": native, "name": name, "frames": frames[::-1]})
    return view


def report():
    while len(ARRIVED) < len(SHAPES) + 199 * ("many_threads" in SHAPES):
        time.sleep(0.001)
    time.sleep(0.02)
    me = threading.get_ident()
    # Shaped by hand, since json has no frames of its own that matter here.
    line = json.dumps({"pid": os.getpid(), "me": threading.get_native_id(), "threads": own_view(me)})
    os.write(1, line.encode() + b"\n")
    sys.stdin.read()
    os._exit(0)


def make_busy():
    space = {}
    for name in "abcdefgh":
        other = chr((ord(name) - 97 + 1) % 8 + 97)
        source = f"def busy_{name}(n):\n    if n:\n        BUSY[{other!r}](n - 1)\n    return n\n"
        exec(compile(source, f"busy_{name}.py", "exec"), space)
    made = {name: space["busy_" + name] for name in "abcdefgh"}
    space["BUSY"] = made
    return made


BUSY = make_busy()
if __name__ == "__main__":
    SHAPES = sys.argv[1:]
    threading.Thread(target=report, name="reporter", daemon=True).start()
    for shape in SHAPES[1:]:
        threading.Thread(target=globals()[shape], name=shape, daemon=True).start()
    globals()[SHAPES[0]]()
