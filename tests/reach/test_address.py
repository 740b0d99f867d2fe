"""Commands that are shown reach the hosts of a job from where their reader sits."""

from __future__ import annotations

import pytest

from rankscope.reach import address
from rankscope.reach.gather import Remote
from rankscope.reach.transport import Options


def test_a_job_beside_the_reader_needs_no_target_and_leads_on_with_the_same_options() -> None:
    found = address.beside("node1", Options(sudo=True))
    assert (found.target, found.options, found.here, found.host) == ("", "--sudo", "node1", "ssh:{host}")
    assert address.beside("node1", None).options == ""


@pytest.mark.parametrize(
    ("transport", "spec", "target", "host", "shell"),
    [
        ("ssh", "node[1-3]", "'ssh:node[1-3]'", "ssh:{host}", "ssh"),
        ("hostfile", "hosts.txt", "hostfile:hosts.txt", "ssh:{host}", "ssh"),
        ("slurm", "7", "slurm:7", "", "srun"),
        ("slurm", "7+1", "slurm:7+1", "", "ssh"),
    ],
)
def test_only_a_slurm_job_of_one_number_is_entered_by_a_step(
    transport: str, spec: str, target: str, host: str, shell: str
) -> None:
    found = address.away("login", Remote(transport, spec))
    assert (found.target, found.host, found.shell.split()[0]) == (target, host, shell)
    assert found.shell.format(host="node2", command="true").endswith("node2 true" if shell == "ssh" else "-c true")
