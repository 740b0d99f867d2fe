"""Why a node gave no answer, from the words of ssh and of Slurm (OpenSSH 7 to 10, Slurm 20 to 24)."""

from __future__ import annotations

from collections.abc import Sequence

from ..model.gap import Why

# ssh ends with this status for its own errors; a remote program may do so as well, hence the words.
SSH_FAILED = 255

_POWER = "ping it; look at its power, its console, the switch"
_CONSOLE = "its console: it may be out of memory, or hang on a file system"

_SSH = (
    ("could not resolve hostname", Why.MISSING, "its name is not known here", "check the spelling, or /etc/hosts and DNS"),
    ("connection refused", Why.DENIED, "it refuses ssh: the host is up, no sshd listens",
     "start sshd there, or look on its console"),
    ("during banner exchange", Why.TIMEOUT, "it accepts the connection, but its sshd does not speak",
     _CONSOLE),
    ("no route to host", Why.UNREACHABLE, "no route to it: switched off, or its link is down", _POWER),
    ("network is unreachable", Why.UNREACHABLE, "no network leads to it", "ip route: is this the right login node?"),
    ("timed out", Why.UNREACHABLE, "it does not answer: switched off, or its packets are dropped",
     _POWER),
    ("host key verification failed", Why.DENIED, "its host key is not known, and unknown keys are not accepted",
     "ssh to it once and check the key"),
    ("remote host identification has changed", Why.DENIED, "its host key has changed", "find out why before you go on"),
    ("permission denied", Why.DENIED, "it refuses our key", "ssh-add, or the right user: --ssh-options '-l USER'"),
    ("too many authentication failures", Why.DENIED, "it refuses our keys", "--ssh-options '-oIdentitiesOnly=yes'"),
    ("account validation failure", Why.DENIED, "sudo there does not accept this account", "without --sudo"),
    ("a password is required", Why.DENIED, "sudo there wants a password", "without --sudo, or a rule in its sudoers"),
    ("not in the sudoers", Why.DENIED, "sudo is not allowed there", "without --sudo"),
    ("connection reset", Why.FAILED, "the connection was reset", ""),
    ("connection closed", Why.FAILED, "the connection was closed", ""),
    ("broken pipe", Why.FAILED, "the connection broke", ""),
    ("memoryerror", Why.FAILED, "there is no memory for the agent", ""),
    ("cannot allocate memory", Why.FAILED, "there is no memory for the agent", ""),
)  # fmt: skip


def of_ssh(status: int | None, errors: Sequence[str]) -> tuple[Why, str, str]:
    """Why, in words, and what would help."""
    said = " ".join(errors)
    for words, why, detail, hint in _SSH:
        if words in said.lower():
            return why, detail, hint
    if status is None:
        return Why.TIMEOUT, "no answer before the deadline", ""
    if status == 127:
        return Why.MISSING, "no Python found there", "--remote-python PATH, or --env-setup 'conda activate NAME'"
    if status == SSH_FAILED:
        return Why.FAILED, f"ssh failed: {_last(errors)}" if errors else "the connection broke", ""
    if status > 128:
        return Why.FAILED, f"the agent was ended by signal {status - 128}", ""
    return Why.FAILED, f"the agent ended with status {status}" + (f": {_last(errors)}" if errors else ""), ""


def _last(errors: Sequence[str]) -> str:
    return next((line.strip() for line in reversed(errors) if line.strip()), "")[:200]
