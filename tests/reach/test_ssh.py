"""The hosts of a set through ssh, with a stand-in that refuses, hangs, makes noise or breaks off."""

from __future__ import annotations

import time

import pytest

from rankscope.cli import _target, diagnose
from rankscope.errors import RankscopeError
from rankscope.model.evidence.source import Place
from rankscope.model.gap import Why
from rankscope.model.snapshot import Snapshot
from rankscope.probe import source_lines
from rankscope.probe.sweep import Plan
from rankscope.reach import again, hostfile
from rankscope.reach.gather import Remote, gather
from rankscope.reach.transport import Options

from .conftest import Site


def look(spec: str, deadline_s: float = 20.0, options: Options | None = None) -> list[Snapshot]:
    return list(gather(Remote("ssh", spec, options or Options()), Plan(deadline_s=deadline_s)))


def test_all_hosts_answer(site: Site) -> None:
    site.host("node1", (0, 1), "noise")
    site.host("node2", (2, 3))
    (job,) = look("node[1-2]")
    assert sorted(process.rank for process in job.processes) == [0, 1, 2, 3]
    assert not [gap for gap in job.gaps if gap.what == "host"]
    assert job.complete


@pytest.mark.parametrize(
    ("mode", "why", "words"),
    [
        ("refuse", Why.DENIED, "refuses ssh"),
        ("dark", Why.UNREACHABLE, "does not answer"),
        ("unknown-key", Why.DENIED, "host key is not known"),
        ("old", Why.MISSING, "only Python 3.6"),
        ("bare", Why.MISSING, "no Python"),
    ],
)
def test_a_host_that_cannot_be_looked_at_is_named_with_its_reason(site: Site, mode: str, why: Why, words: str) -> None:
    site.host("node1", (0, 1))
    site.host("node2", (2, 3), mode)
    (job,) = look("node[1-2]")
    assert [(gap.host, gap.why) for gap in job.gaps] == [("node2", why)]
    assert words in job.gaps[0].detail
    assert sorted(process.rank for process in job.processes) == [0, 1]


def test_a_host_that_hangs_costs_the_deadline_and_not_the_answer(site: Site) -> None:
    site.host("node1", (0, 1))
    site.host("node2", (2, 3), "hang")
    (job,) = look("node[1-2]", deadline_s=3.0)
    assert [(gap.host, gap.why) for gap in job.gaps] == [("node2", Why.TIMEOUT)]
    assert len(job.processes) == 2


@pytest.mark.parametrize("mode", ["cut", "stall"])
def test_an_answer_that_breaks_off_counts_as_far_as_it_came(site: Site, mode: str) -> None:
    site.host("node1", (0, 1))
    site.host("node2", (2, 3), mode)
    (job,) = look("node[1-2]", deadline_s=3.0)
    assert sorted(process.rank for process in job.processes) == [0, 1, 2, 3]
    assert [gap.host for gap in job.gaps if gap.what == "host"] == ["node2"]
    assert "broke off" in job.gaps[-1].detail


def test_when_nobody_answers_the_error_names_every_host_and_why(site: Site) -> None:
    site.host("node1", (0,), "refuse")
    site.host("node2", (1,), "dark")
    with pytest.raises(RankscopeError) as error:
        look("node[1-2]")
    assert "node1: it refuses ssh" in str(error.value)
    assert "node2: it does not answer" in str(error.value)


def test_the_command_for_a_node_never_asks_and_keeps_the_users_words(site: Site) -> None:
    site.host("node1", (0, 1))
    look(
        "node1",
        options=Options(ssh_options="-l alice", env_setup="conda activate x", remote_python="/opt/p/bin/python"),
    )
    asked = site.asked("node1")
    assert "conda activate x && exec sh -c 'exec /opt/p/bin/python -I -S -c " in asked


def test_ssh_asks_for_no_password_and_accepts_no_unknown_key_on_its_own(site: Site) -> None:
    site.host("node1", (0, 1))
    look("node1", options=Options(ssh_options="-l alice"))
    given = (site.folder / "node1.options").read_text()
    assert "-oBatchMode=yes" in given
    assert "-oForwardAgent=no" in given
    assert "StrictHostKeyChecking" not in given
    assert "-l alice" in given


def test_options_of_pdsh_users_are_taken_where_they_give_none_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PDSH_SSH_ARGS_APPEND", "-p 2222")
    for given, taken in (([], "-p 2222"), (["--ssh-options=-l alice"], "-l alice")):
        assert diagnose.command.make_context("diagnose", ["ssh:node1", *given]).params["ssh_options"] == taken


def test_answers_of_nodes_are_kept_when_asked_for(site: Site) -> None:
    site.host("node1", (0, 1))
    raw = site.folder / "raw"
    look("node1", options=Options(raw_dir=raw))
    kept = raw / "node1.txt"
    assert kept.read_bytes().startswith(b"rankscope-agent 1 begin")
    assert kept.stat().st_mode & 0o777 == 0o600


def test_what_was_kept_of_a_look_outlives_the_question_for_source_lines(site: Site) -> None:
    """It is the same host that is asked once more, with the same options."""
    site.host("node1", (0, 1))
    raw = site.folder / "raw"
    options = Options(raw_dir=raw)
    (seen,) = look("node1", options=options)
    kept = (raw / "node1.txt").read_bytes()
    site.host("node1", (0, 1), sweeps=1)
    ref = seen.processes[0].ref
    again.source(Remote("ssh", "node1", options), [Place(ref, "/home/u/train.py", 7)], 1)
    again.look(Remote("ssh", "node1", options), [ref], Plan(sweeps=1))
    assert (raw / "node1.txt").read_bytes() == kept


def test_a_verdict_does_not_wait_long_for_source_lines_of_a_host_that_fell_silent(site: Site) -> None:
    """It is in hand already, and a watchdog may end the job before it is shown."""
    site.host("node1", (0, 1))
    (seen,) = look("node1")
    site.host("node1", (0, 1), "hang")
    began = time.monotonic()
    place = Place(seen.processes[0].ref, "/home/u/train.py", 7)
    assert again.source(Remote("ssh", "node1", Options()), [place], 0) == {}
    assert time.monotonic() - began < source_lines.TOTAL_S + 1.5


def test_a_host_file_is_asked_through_ssh(site: Site) -> None:
    site.host("node1", (0, 1))
    site.host("node2", (2, 3))
    site.say("hosts", "node1 slots=2\nnode2 slots=2\n")
    (job,) = gather(Remote("hostfile", str(site.folder / "hosts")), Plan())
    assert len(job.processes) == 4


def test_pdsh_users_may_name_their_hosts_in_wcoll(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.host("node1", (0, 1))
    site.say("hosts", "node1\n")
    monkeypatch.setenv("WCOLL", str(site.folder / "hosts"))
    named = _target.parse("ssh:").remote
    assert named is not None
    assert len(list(gather(Remote(*named), Plan()))) == 1
    assert hostfile.read_hosts(str(site.folder / "hosts")) == ("node1",)
