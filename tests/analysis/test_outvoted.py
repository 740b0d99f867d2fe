"""What no number of good lines makes less true; and a picture of one moment, which decides nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankscope.analysis import order
from rankscope.analysis.doings import doings
from rankscope.formats.gather import gather
from rankscope.model.diagnosis import READS_WELL, Certainty, Diagnosis
from rankscope.pipeline import case_of, judge
from rankscope.report import screen

BOOT = [
    "[    {0}.100000] pci 0000:{1:02x}:00.0: [8086:2030] type 01 class 0x060400",
    "[    {0}.200000] usb {1}-1: new high-speed USB device number {1} using xhci_hcd",
    "[    {0}.300000] systemd[1]: Started Journal Service.",
    "[    {0}.400000] EXT4-fs (nvme0n1p{1}): mounted filesystem with ordered data mode. Quota mode: none.",
    "[    {0}.500000] nvidia 0000:3b:00.0: enabling device (0140 -> 0142)",
    "[    {0}.600000] mlx5_core 0000:5e:00.{1}: firmware version: 16.35.2000",
    '[    {0}.700000] audit: type=1400 audit({1}): apparmor="STATUS" operation="profile_load" name="docker-default"',
]
KERNEL = {
    "gpu-hardware-fault": "[ 9001.5] NVRM: Xid (PCI:0000:3b:00): 79, pid=4411, name=python3, GPU has fallen off the bus.",
    "oom-kill": "[ 9001.5] Out of memory: Killed process 25041 (python) total-vm:98234512kB, anon-rss:65011232kB",
}
IN_OWN_CODE = """\
Process 8241: python solo.py
Python v3.11.7 (/usr/bin/python3.11)

Thread 8241 (idle): "MainThread"
    hold (solo.py:15)
    <module> (solo.py:70)
"""
SERVER = """\
Process 8242: python serve.py
Python v3.11.7 (/usr/bin/python3.11)

Thread 8242 (idle): "MainThread"
    select (selectors.py:415)
    serve_forever (socketserver.py:235)
    <module> (serve.py:9)
"""


def said(folder: Path, text: str) -> Diagnosis:
    """The diagnosis of one text."""
    (folder / "evidence.txt").write_text(text)
    return judge(gather([folder]))


@pytest.mark.parametrize("boots", [0, 40])
@pytest.mark.parametrize("cls", KERNEL)
def test_a_fatal_line_of_the_kernel_is_not_outvoted_by_its_start(cls: str, boots: int, tmp_path: Path) -> None:
    """Hundreds of good lines stand before it on every machine."""
    boot = [line.format(second, second % 8) for second in range(boots) for line in BOOT]
    verdict = said(tmp_path, "\n".join([*boot, KERNEL[cls]]) + "\n").verdict
    assert verdict is not None
    assert (verdict.cls, verdict.certainty) == (cls, Certainty.LIKELY)


def test_the_start_of_a_machine_alone_has_no_cause(tmp_path: Path) -> None:
    """The look-alike."""
    boot = [line.format(second, second % 8) for second in range(40) for line in BOOT]
    assert said(tmp_path, "\n".join(boot) + "\n").verdict is None


@pytest.mark.parametrize(("text", "weak"), [(IN_OWN_CODE, True), (SERVER, False)], ids=["in its own code", "a server"])
def test_one_picture_of_who_does_not_run_decides_nothing(text: str, weak: bool, tmp_path: Path) -> None:
    """Clean is who has nothing to do; who stands in its own code may have been caught in a pause, or hang."""
    found = said(tmp_path, text)
    assert (found.verdict, found.evidence_weak) == (None, weak)
    assert any("a minute later" in str(step) for step in found.next) is weak


ENTERED_TWICE = """\
Process 8243: python solo.py
Python v3.11.7 (/usr/bin/python3.11)

Thread 8243 (idle): "MainThread"
    acquire (threading.py:160)
    flush (logging/__init__.py:1080)
    handle_signal (solo.py:20)
    flush (logging/__init__.py:1080)
    emit (logging/__init__.py:1113)
    <module> (solo.py:70)
"""
SENT_AGAIN = """\
State Recv-Q Send-Q Local Address:Port Peer Address:Port
ESTAB 0 214 10.0.0.4:51144 10.0.0.7:7171 timer:(on,58sec,{times})
"""
READ = "100%|##########| 3000001/3000001 [03:33<00:00, 14061.26it/s]\n"
# A likely cause each, and whether it stands where all else reads well.
LIKELY = [
    (KERNEL["gpu-hardware-fault"], True),
    ("potential deadlock: lock order inversion\n" + ENTERED_TWICE, True),
    ("potential deadlock: lock order inversion\n", False),
    ("NCCL version 2.27.3+cuda12.4\nthe local disk's utilization is over capacity\n", False),
    (SENT_AGAIN.format(times=12), True),
    (SENT_AGAIN.format(times=3), False),
    (READ + "Killed\n", True),
    (READ + "epoch 1\nlibgomp: Thread creation failed: Resource temporarily unavailable\n", True),
    (READ + "libgomp: Thread creation failed: Resource temporarily unavailable\nthe run goes by\n", False),
    (
        "all epochs are done\nmain thread: _run_exitfuncs -> join of a writer\nit stays until the time limit\n",
        True,
    ),
    ("all results are written\nmain: _exit_function -> waitpid\nGPU memory is held until the wall time ends\n", True),
    ("all epochs are done\nmain thread: _exit_function -> Process.join of a writer\n", False),
]


@pytest.mark.parametrize(("text", "stands"), LIKELY, ids=[
    "kernel", "stacks", "words", "a write", "minutes", "seconds", "killed", "no threads", "not the last word",
    "stays at its end", "held at its end", "met at its end",
])  # fmt: skip
def test_what_reads_well_turns_into_a_note_and_decides_nothing(
    text: str, stands: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is only outvoted is neither named nor called clean, and what would decide is said."""
    assert said(tmp_path, text).verdict is not None
    monkeypatch.setattr(order, "reads_well", lambda case: True)
    found = said(tmp_path, text)
    assert (found.verdict is not None) is stands
    assert found.evidence_weak is not stands
    assert stands or any(READS_WELL in one.against for one in found.findings)
    assert stands or any("rankscope snapshot" in str(step) or "rankscope diagnose" in str(step) for step in found.next)
    assert ("but for what a note below says" in " ".join(screen.render(found).split())) is not stands


NATIVE = """\
Thread 2 (Thread 0x7f03 (LWP 7941) "gloo"):
#0  0x01 in epoll_wait () from /lib/libc.so.6
#1  0x02 in gloo::transport::tcp::Loop::run() () from /lib/libtorch_cpu.so
#2  0x03 in start_thread () from /lib/libc.so.6

Thread 1 (Thread 0x7f02 (LWP 7936) "python"):
#0  0x04 in pthread_cond_wait () from /lib/libc.so.6
#1  0x05 in c10d::Reducer::finalize_backward() () from /lib/libtorch_cpu.so
#2  0x06 in _PyEval_EvalFrameDefault () from /lib/libpython3.11.so
#3  0x07 in Py_BytesMain () from /lib/libpython3.11.so
#4  0x08 in __libc_start_main () from /lib/libc.so.6
#5  0x09 in _start ()
"""
ROWS = """\
  PID  PPID STAT     ELAPSED COMMAND
 4011  4000 Sl+        56:13 python train.py
 4012  4000 Sl+        56:13 python train.py
"""


def test_the_first_thread_of_gdb_is_the_one_that_started(tmp_path: Path) -> None:
    """It is listed last, and nothing calls it the main one."""
    (tmp_path / "rank0.txt").write_text(NATIVE)
    case = case_of(gather([tmp_path]))
    assert [doing.kind for doing in doings(case)] == ["collective"]


def test_a_table_of_processes_is_not_clean(tmp_path: Path) -> None:
    """It shows no place in a program."""
    found = said(tmp_path, ROWS)
    assert (found.verdict, found.evidence_weak) == (None, True)
