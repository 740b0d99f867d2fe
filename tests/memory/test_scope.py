"""Which frames tell the lock file or the meeting point that they wait at."""

from __future__ import annotations

import importlib.util
import pathlib

import pytest

from rankscope.memory import scope

POLL = "_poll_until_acquired"


@pytest.mark.parametrize(
    ("file", "function"),
    [
        ("filelock/_api.py", "BaseFileLock.acquire"),
        ("filelock/_api.py", f"BaseFileLock.{POLL}"),
        ("filelock/_core/_acquire.py", f"LockAcquisition.{POLL}"),
        ("filelock/_async_lock/_acquire.py", f"AsyncLockAcquisition._async{POLL}"),
    ],
)
def test_the_loop_that_polls_tells_its_lock_file(file: str, function: str) -> None:
    assert scope.told(f"/env/lib/python3.11/site-packages/{file}", function) is not None


def test_the_loop_of_the_filelock_that_is_installed_is_known() -> None:
    """A release that moves it is noticed here, and not in somebody's job."""
    found = importlib.util.find_spec("filelock")
    if found is None or found.origin is None:
        pytest.skip("needs filelock")
    home = pathlib.Path(found.origin).parent
    loops = [path for path in home.rglob("*.py") if f"def {POLL}" in path.read_text()]
    assert loops == [] or any(scope.told(str(path), POLL) for path in loops)
