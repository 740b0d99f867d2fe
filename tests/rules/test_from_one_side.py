"""Mechanisms that a short text shows from one side, beside look-alikes in which nothing, or something else, is wrong."""

# ruff: noqa: E501  (what a file tells is one line)
from __future__ import annotations

import pathlib

import pytest

from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Finding, Kind
from rankscope.pipeline import judge

PIN = (
    'Exception in thread Thread-9:\nTraceback (most recent call last):\n  File "/usr/lib/python3.9/threading.py", line 973, in _bootstrap_inner\n'
    '    self.run()\n  File "/opt/lib/python3.9/site-packages/torch/utils/data/_utils/pin_memory.py", line 31, in _pin_memory_loop\n'
    "    {line}\n{error}\n"
)
SEMAPHORE = (
    'Traceback (most recent call last):\n  File "/opt/lib/python3.10/site-packages/joblib/externals/loky/backend/synchronize.py", line 69, in __init__\n'
    "    self._semlock = _SemLock(\nOSError: [Errno 28] No space left on device\n"
)
STALL = (
    "[2023-02-01 08:00:00.1: W /tmp/horovod/common/stall_inspector.cc:105] One or more tensors were submitted to be reduced, gathered or "
    "broadcasted by subset of ranks and are waiting for remainder of ranks for more than 60 seconds.\n"
)
MMAP = "RuntimeError: unable to mmap 8192 bytes from file </torch_71_38_40123>: Cannot allocate memory (12)\n"

PUT = (
    'Thread 0x00007f1aacabb640 (most recent call first):\n  File "/usr/lib/python3.11/threading.py", line 320 in wait\n'
    '  File "/opt/lib/python3.11/site-packages/wire/inbox.py", line 71 in {name}\n  File "/opt/lib/python3.11/site-packages/wire/link.py", line 88 in receive\n'
)
SERVED = (
    '  File "/usr/lib/python3.11/socketserver.py", line 233, in serve_forever\n    self._handle_request_noblock()\n'
    '  File "/usr/lib/python3.11/socketserver.py", line 316, in _handle_request_noblock\n    self.process_request(request, client_address)\n'
    '  File "/usr/lib/python3.11/socketserver.py", line 347, in process_request\n    self.finish_request(request, client_address)\n'
    '  File "/usr/lib/python3.11/socketserver.py", line 360, in finish_request\n    self.RequestHandlerClass(request, client_address, self)\n'
    '  File "/srv/stub.py", line 12, in handle\n    self.rfile.readline()\n'
)
POLLED = (
    '  File "/usr/lib/python3.11/socketserver.py", line 232, in serve_forever\n    ready = selector.select(poll_interval)\n'
    '  File "/usr/lib/python3.11/selectors.py", line 415, in select\n    fd_event_list = self._selector.poll(timeout)\n'
)
STOPS = (
    '  File "/srv/test_stub.py", line 40, in test_all\n    server.shutdown()\n  File "/usr/lib/python3.11/socketserver.py", line 252, in shutdown\n'
    "    self.__is_shut_down.wait()\n"
)
FREED = (
    "Thread 7 (Thread 0x7f40ed7fa700 (LWP 2218)):\n#0  0x00007f4117996c60 in __lll_lock_wait () from /lib/libpthread.so.0\n"
    "#1  0x00007f4117996c61 in pthread_mutex_lock () from /lib/libpthread.so.0\n#2  0x00007f4117996c62 in {name} (this=0x7f) at src/link.cpp:61\n"
    "#3  0x00007f4117996c63 in std::default_delete<Link>::operator() (this=0x7f) at unique_ptr.h:85\n{below}"
)
BOUND = (
    "#4  0x00007f4117996c64 in pybind11::class_<Link>::dealloc (v_h=...) at /opt/include/pybind11/pybind11.h:1601\n"
    "#5  0x00007f4117996c65 in _Py_Dealloc (op=0x7f) from /usr/lib/libpython3.11.so\n"
)
ENGINE = (
    "Thread 35 (Thread 0x7f2a1c7f8700 (LWP 2417)):\n#0  0x00007f2b8a4c3360 in pthread_cond_wait () from /lib/libpthread.so.0\n"
    "#1  0x00007f2b8a4c3361 in std::condition_variable::wait () from /usr/lib/libstdc++.so.6\n"
    "#2  0x00007f2b8a4c3362 in grid::ThreadPool::WaitAll () from /opt/libgrid.so\n#3  0x00007f2b8a4c3363 in grid::Sort::Run () from /opt/libgrid.so\n"
    "#4  0x00007f2b8a4c3364 in {runs} () from /opt/libgrid.so\n"
)
CACHED = (
    'Thread 0x00007f1aacabb640 (most recent call first):\n{leaf}  File "/usr/lib/python3.9/functools.py", line 969 in __get__\n'
    '  File "/srv/table.py", line 40 in size\n'
)
TWO = "pool/keeper.py:98 in _beat\n    `with self._pool._lock, self._state_lock:`\n{below}"
LISTENER = (
    "class Listener:\n    def close(self):\n        with self._lock:\n            self._closing = True\n{join}\n"
    "    def _poll(self):\n        while not self._closing:\n            with self._lock:\n                self._read()\n\n"
    "    def start(self):\n        self._helper = threading.Thread(target=self._poll)\n"
)

# What a text shows, the rule that names it, the same with one thing changed: then that rule does not.
PAIRS: tuple[tuple[str, str, dict[str, str], dict[str, str]], ...] = (
    (
        "the worker is not in the list of processes, and who asked it waits",
        "helper-gone",
        {"api server": "the thread of the answers is in get() without a limit", "engine process": "not in ps any more; exitcode -9, on another day -6"},
        {"api server": "the thread of the answers is in get() without a limit", "engine process": "in ps, state S, 3 % CPU"},
    ),
    (
        "who crashes as often as it is killed is not short of memory",
        "helper-gone",
        {"parent": "waits in recv()", "child": "no longer in the process list\nreturncode 137 or 139"},
        {"parent": "waits in recv()", "child": "still in the process list\nreturncode of the one before: 0"},
    ),
    (
        "the thread that pins batches fails over what it was given",
        "loader-silent",
        {"console": "epoch 2 starts\n" + PIN.format(line="index, batch = item", error="ValueError: too many values to unpack (expected 2)")},
        {"console": "epoch 2 starts\n" + PIN.format(line="r = in_queue.get(timeout=5)", error="ConnectionResetError: [Errno 104] Connection reset by peer")},
    ),
    (
        "semaphores of loky lie in shared memory",
        "shm-full",
        {"console": SEMAPHORE, "host": "all disks have free space"},
        {"console": SEMAPHORE.replace("_SemLock(", "open('/scratch/run/part-3', 'wb')")},
    ),
    (
        "joblib tries a semaphore when it is imported",
        "shm-full",
        {"console": "joblib/_multiprocessing_helpers.py:53: UserWarning: [Errno 28] No space left on device.  joblib will operate in serial mode\n"},
        {"console": "joblib/_multiprocessing_helpers.py:53: UserWarning: [Errno 38] Function not implemented.  joblib will operate in serial mode\n"},
    ),
    (
        "the loop is blocked by its own watcher's words",
        "loop-held-by-a-step",
        {"bot": "[ERROR] discord.gateway: Shard ID None heartbeat blocked for more than 640 seconds.\nLoop thread traceback (most recent call last):\n"},
        {"bot": "[WARNING] discord.gateway: Shard ID None heartbeat blocked for more than 10 seconds.\n"},
    ),
    (
        "others are still loading while the early ones give up at the store",
        "one-rank-prepares",
        {"ranks that came first": "RuntimeError: [RedisStoreHandler.cpp:80] Wait timeout for name(s): 0_1", "the others": "still reading their share of the corpus"},
        {"ranks that came first": "RuntimeError: [RedisStoreHandler.cpp:80] Wait timeout for name(s): 0_1", "the others": "are not there"},
    ),
    (
        "who should take a message joins the thread that waits for room for it",
        "pipe-full",
        {"receiver": PUT.format(name="put"), "handler, link.py": "  self.receiver_thread.join()"},
        {"receiver": PUT.format(name="pause"), "handler, link.py": "  self.receiver_thread.join()"},
    ),
    ("a server is told to end in a request", "ends-never", {"main": STOPS, "server": SERVED}, {"main": STOPS, "server": POLLED}),
    (
        "a context waits for what was not sent",
        "ends-never",
        {"program": "import zmq", "console": "sent 1 message\nterminating the context", "then": "the script does not exit"},
        {"program": "import zmq", "console": "sent 1 message\nterminating the context\ndone", "then": "exit status 0"},
    ),
    (
        "a destructor below pybind11 waits for a mutex",
        "gil-held-in-a-wait",
        {"gdb, it hangs": FREED.format(name="Link::~Link", below=BOUND)},
        {"gdb, it hangs": FREED.format(name="Link::~Link", below="#4  0x00007f4117996c64 in pump () at src/pump.cpp:9\n")},
    ),
    (
        "a worker of an engine waits for its engine",
        "pool-waits-for-itself",
        {"gdb": ENGINE.format(runs="grid::ThreadPool::WorkerLoop")},
        {"gdb": ENGINE.format(runs="grid::Table::process_all")},
    ),
    (
        "the lock of a cached property, and another one inside of it",
        "lock-taken-twice",
        {"stack of a thread that hangs": CACHED.format(leaf=""), "table.py": "@cached_property\n@with_guard\ndef rows(self): ..."},
        {"stack of a thread that hangs": CACHED.format(leaf='  File "/srv/table.py", line 51 in rows\n'), "table.py": "@cached_property\n@with_guard\ndef rows(self): ..."},
    ),
    (
        "a line that takes two locks, and the wait for one of them",
        "lock-taken-twice",
        {"thread of the keeper": TWO.format(below="/usr/lib/python3.8/threading.py:285 in __enter__\n    `return self.__lock.__enter__()`")},
        {"thread of the keeper": TWO.format(below="pool/keeper.py:120 in _send\n    `self._out.write(beat)`")},
    ),
    (
        "a thread is joined inside the lock that it takes",
        "joined-under-a-lock",
        {"listener.py": LISTENER.format(join="            self._helper.join()"), "seen": "close() never returns"},
        {"listener.py": LISTENER.format(join="        self._helper.join()"), "seen": "close() never returns"},
    ),
    (
        "repetitions inside of repetitions",
        "pattern-tries-all-ways",
        {"parse.py": r"WORDS = re.compile(r'^(\w+)+$')", "seen": "WORDS.match(line) never returns"},
        {"parse.py": r"WORDS = re.compile(r'^(\w+,)+$')", "seen": "fetch(line) never returns"},
    ),
    (
        "the words for it",
        "pattern-tries-all-ways",
        {"note": "the tokenizer is stuck at 100 % CPU in a regex with catastrophic backtracking"},
        {"note": "the tokenizer is stuck at 100 % CPU in a regex"},
    ),
    (
        "the interface of the submit host is none of the workers'",
        "wrong-interface",
        {"cluster.py": "SLURMCluster(cores=4, interface='ib0')", "hosts": "login: ib0 has an IP address\nnodes: no IP address on ib0", "then": "no worker registers"},
        {"cluster.py": "SLURMCluster(cores=4, interface='eth0')", "hosts": "login: ib0 has an IP address\nnodes: no IP address on ib0", "then": "no worker registers"},
    ),
    (
        "a worker's own words for it",
        "wrong-interface",
        {"worker": "ValueError: interface 'ib0' doesn't have an IPv4 address"},
        {"worker": "INFO: interface 'ib0' has the IPv4 address 10.4.0.3"},
    ),
    (
        "it reads its data on",
        "only-slow",
        {"console": "Starting training from iteration 0", "host": "no error; the disk I/O continues, the GPUs are at 0 %"},
        {"console": "Starting training from iteration 0", "host": "no error; no disk I/O, the GPUs are at 0 %"},
    ),
    (
        "a stall that nobody says is over",
        "call-missed",
        {"log": STALL, "then": "the ranks never go on"},
        {"log": STALL, "then": "all delayed ops then finished, and the training went on"},
    ),
)  # fmt: skip


def causes(folder: pathlib.Path, files: dict[str, str]) -> dict[str, Finding]:
    """The causes that are named, by rule."""
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.txt").write_text(text + "\n")
    return {found.rule: found for found in judge(gather([folder])).findings if found.kind is Kind.CAUSE}


@pytest.mark.parametrize(("what", "rule", "sick", "other"), PAIRS, ids=[pair[0] for pair in PAIRS])
def test_a_mechanism_and_its_look_alike(
    what: str, rule: str, sick: dict[str, str], other: dict[str, str], tmp_path: pathlib.Path
) -> None:
    assert rule in causes(tmp_path / "sick", sick), what
    assert rule not in causes(tmp_path / "other", other), what


def test_what_is_refused_names_its_own_reason(tmp_path: pathlib.Path) -> None:
    """That it works without workers says no more than that nothing is handed over then."""
    cured = {"tried": "num_workers=0: works"}
    assert "loader-silent" not in causes(tmp_path / "refused", {"console": MMAP, **cured})
    assert "loader-silent" in causes(tmp_path / "silent", {"console": "step 3, then nothing more", **cured})


def test_an_end_by_either_signal_is_no_shortage_of_memory(tmp_path: pathlib.Path) -> None:
    assert "killed-for-memory" in causes(tmp_path / "killed", {"parent": "waits", "child": "exitcode -9"})
    assert "killed-for-memory" not in causes(tmp_path / "either", {"parent": "waits", "child": "exitcode -9, once -11"})
