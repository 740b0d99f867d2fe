"""A command imports what it needs and nothing else: the start is part of what a look costs."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = {"torch", "numpy", "ClusterShell", "pystack", "yaml", "rich", "hypothesis", "asyncio"}
MODULES = (
    "import sys; {do}; print(' '.join(sorted({{name.partition('.')[0] for name in sys.modules}} & set({heavy!r}))))"
)
LOOK = "import rankscope.cli.diagnose, rankscope.pipeline, rankscope.rules; rankscope.rules.rules()"


def loaded(do: str) -> str:
    script = MODULES.format(do=do, heavy=sorted(HEAVY))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize("do", ["import rankscope.cli.main", LOOK])
def test_nothing_heavy_is_imported(do: str) -> None:
    """Neither PyTorch nor what only other hosts or native frames need."""
    assert loaded(do) == ""


def test_a_look_at_this_host_does_not_import_the_way_to_others() -> None:
    script = f"import sys; {LOOK}; print([name for name in sys.modules if name.startswith('rankscope.reach.')])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_help_loads_no_other_command() -> None:
    """Completion asks on every keystroke."""
    rooms = ("rankscope.rules", "rankscope.probe", "msgspec")
    script = f"import sys, rankscope.cli.main; print([name for name in sys.modules if name.startswith({rooms!r})])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_raw_dumps_load_neither_the_commands_nor_the_judges() -> None:
    """They are asked for in a hurry, and on many processes."""
    rooms = ("click", "rankscope.rules", "rankscope.analysis.case", "rankscope.model.diagnosis", "ClusterShell")
    script = (
        "import sys\nfrom rankscope.cli.main import main\ntry: main()\nexcept SystemExit: pass\n"
        f"print('loaded', [name for name in sys.modules if name.startswith({rooms!r})])"
    )
    program = "print('ready', flush=True); import time; time.sleep(1000)"
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as target:
        assert target.stdout is not None
        target.stdout.readline()
        words = ("stacks", "--raw", str(target.pid))
        done = subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True, check=True)
        target.kill()
    assert "Thread" in done.stdout
    assert done.stdout.splitlines()[-1] == "loaded []", done.stdout[-500:]
