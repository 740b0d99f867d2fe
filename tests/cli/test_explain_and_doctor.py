"""Pages, completion, and what the doctor says of this host."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess

import pytest
from conftest_cli import rankscope

from harness.judging import TOOL
from rankscope.model.classes import CLASSES
from rankscope.probe import access
from rankscope.probe.access import Rights
from rankscope.rules import rules


def test_the_list_names_every_class_and_every_rule() -> None:
    """Without an argument, all pages."""
    out = rankscope("explain").out
    assert [name for name in [*CLASSES, *(rule.id for rule in rules())] if f"  {name}" not in out] == []
    assert "  ptrace" in out


def test_a_rule_shows_its_page() -> None:
    said = rankscope("explain", "process-stopped")
    assert said.code == 0
    assert "## What to do" in said.out
    assert "class: process-stopped" in said.out


def test_a_class_shows_its_sentence_and_all_its_rules() -> None:
    out = rankscope("explain", "dead-rank").out
    assert CLASSES["dead-rank"] in out
    assert [rule.id for rule in rules() if rule.cls == "dead-rank" and f"\n{rule.id}: " not in out] == []


def test_a_class_without_rules_says_so() -> None:
    """The name exists for other tools too."""
    bare = [name for name in CLASSES if not any(rule.cls == name for rule in rules())]
    if not bare:
        pytest.skip("every class has a rule")
    assert "No rule recognises" in rankscope("explain", bare[0]).out


def test_a_mistyped_name_offers_the_nearest() -> None:
    said = rankscope("explain", "proces-stoped")
    assert said.code == 2
    assert "rankscope explain process-stopped" in said.err


@pytest.mark.parametrize("name", ["process_stopped", "Process stopped"])
def test_a_name_may_be_written_as_its_file_or_with_spaces(name: str) -> None:
    assert rankscope("explain", name).out == rankscope("explain", "process-stopped").out != ""


def test_a_word_that_names_no_page_leads_to_those_that_have_it() -> None:
    """Its own page is named by the mechanism, which who asks does not know yet."""
    said = rankscope("explain", "SIGSTOP")
    assert said.code == 2
    assert "rankscope explain process-stopped   # so do " in said.err
    assert "rankscope explain   # lists all pages" in rankscope("explain", "xyzzy").err


def test_the_list_of_commands_says_each_in_full() -> None:
    """No sentence is cut off."""
    assert "..." not in rankscope("--help").out.partition("Commands:")[2]


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("diagnos", "diagnose"),
        ("pid:7", "diagnose pid:7"),
        ("4711", "diagnose 4711"),
        ("/dev/null", "analyze /dev/null"),
    ],
)
def test_what_is_no_command_is_told_what_was_meant(word: str, meant: str) -> None:
    said = rankscope(word)
    assert (said.code, said.out) == (2, "")
    assert said.err.endswith(f"Did you mean this?\n  rankscope {meant}\n")


def test_a_word_that_is_like_nothing_is_only_refused() -> None:
    said = rankscope("xyzzy")
    assert said.code == 2
    assert "No such command 'xyzzy'.\n" in said.err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_its_script(shell: str) -> None:
    said = rankscope("completion", shell)
    assert said.code == 0
    assert "_RANKSCOPE_COMPLETE" in said.out


def test_commands_are_completed(tmp_path: pathlib.Path) -> None:
    """What the script asks, the command answers."""
    program = tmp_path / "rankscope"
    program.write_text(f"#!{TOOL[0]}\n{TOOL[2]}\n")
    program.chmod(0o755)
    env = {**os.environ, "_RANKSCOPE_COMPLETE": "bash_complete", "COMP_WORDS": "rankscope di", "COMP_CWORD": "1"}
    done = subprocess.run([program], env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split(), done.stderr) == (0, ["plain,diagnose"], "")


def test_the_doctor_says_which_engine_serves_whom(job: subprocess.Popen[bytes]) -> None:
    said = rankscope("doctor", f"pid:{job.pid}", "--json")
    (line,) = said.out.splitlines()
    answer = json.loads(line)
    assert (answer["schema"], answer["version"]) == ("rankscope/doctor", 1)
    assert len(answer["processes"]) == 5
    assert all(one["readable"] and "stacks by memory" in one["stacks"] for one in answer["processes"])
    assert {one["rank"] for one in answer["processes"]} == {None, 0, 1, 2, 3}


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv"), reason="needs root and setpriv")
def test_the_doctor_tells_an_ordinary_user_what_root_would_see(job: subprocess.Popen[bytes]) -> None:
    nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all,+dac_read_search",
              "--bounding-set=-all,+dac_read_search", "--ambient-caps=+dac_read_search")  # fmt: skip
    said = rankscope("doctor", f"pid:{job.pid}", before=nobody)
    assert said.code == 1
    assert "it belongs to uid 0 and we are 65534" in " ".join(said.out.split())
    assert "sudo -E rankscope" in said.out


def test_the_doctor_looks_at_living_processes_only(tmp_path: pathlib.Path) -> None:
    (tmp_path / "job.snap").write_text("")
    assert rankscope("doctor", str(tmp_path / "job.snap")).code == 2


@pytest.mark.parametrize(
    ("scope", "capabilities", "fine"),
    [(None, 0, True), (0, 0, True), (1, 0, False), (1, 1 << 19, True), (2, 0, False), (3, 1 << 19, False)],
)
def test_yama_restricts_those_without_the_capability(scope: int | None, capabilities: int, fine: bool) -> None:
    """Scope 3 restricts everybody."""
    check = access._yama(Rights(1000, capabilities, scope))
    assert check.fine is fine
    assert bool(check.do) is not fine


def test_a_hidden_proc_is_noticed(tmp_path: pathlib.Path) -> None:
    """A folder of files stands in for /proc."""
    (tmp_path / "self").mkdir()
    (tmp_path / "self" / "mounts").write_text(f"proc {tmp_path} proc rw,nosuid,hidepid=invisible 0 0\n")
    assert not access._hidepid(str(tmp_path)).fine
    (tmp_path / "self" / "mounts").write_text(f"proc {tmp_path} proc rw,nosuid 0 0\n")
    assert access._hidepid(str(tmp_path)).fine
