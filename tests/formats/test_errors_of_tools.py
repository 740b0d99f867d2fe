"""Errors that a debugger has of its own are none of the job."""

from __future__ import annotations

from rankscope.formats import text


def test_a_source_that_gdb_does_not_find_is_no_error_of_the_job() -> None:
    """``py-list`` looks for the file of code that was typed; the same words of a program count."""
    refused = "Unable to open <stdin>: [Errno 2] No such file or directory: '<stdin>'\n"
    assert not [one for one in text.read(refused) if getattr(one, "event", "") == "os.error"]
    assert [one for one in text.read(refused.replace("<stdin>", "/data/x")) if getattr(one, "event", "") == "os.error"]
