"""How saved evidence shows that a process was forked: the frames of its loop, the words for it."""

# ruff: noqa: E501  (a list of names is one line)
from __future__ import annotations

import re

from ...analysis.accounts import Account
from ...analysis.remembered import remembered
from ...model.patterns import regex
from ...model.process import Role

CHILD_FRAMES = (
    r"(?:(?<!Thread\.)\b_bootstrap\b(?! \((?:[^\n]*/)?threading\.py)|_launch|_Popen|_worker_loop|_process_worker|"
    r"os_fork\w*|worker \((?:.*/)?multiprocessing/pool|spawn_worker|init_process|fork_worker|"
    r"run_subprocess|_main \((?:.*/)?multiprocessing|forked?_child|popen_fork|workloop \((?:.*/)?billiard|"
    r"\brun \((?:.*/)?(?:multiprocess(?:ing)?|billiard)/process|PyOS_AfterFork_Child|run_at_forkers|os_fork_impl|"
    r"after_in_child|_after_fork|afterfork|postfork_child|__run_postfork_handlers|__libc_fork|__fork\b|subprocess_fork_exec|_posixsubprocess|do_fork_exec|grpc_postfork)"
)
CHILD_WORDS = (
    r"\bfork(?:ed|s|ing)?\b|\bchild(?:ren)?\b|data ?loader[ _-]?worker|pool worker|\bworkers?\b|sub-?process|"
    r"pre-?fork|gunicorn|uwsgi|celery|--preload|ProcessPool|multiprocessing|PyOS_AfterFork|run_at_forkers|os_fork|"
    r"__libc_fork|_posixsubprocess|subprocess_fork_exec"
)

# A new program: it has no copies of its parent's locks. joblib's own workers (loky) are such.
FRESH_FRAMES = r"spawn_main|multiprocessing/spawn\.py|popen_spawn|forkserver|popen_loky|\bloky/process_executor\.py"


def is_child(account: Account, forks: bool) -> bool:
    """Whether a subject is a forked child, by its role, frames or label; "worker" counts where the case forks."""
    if account.role is Role.DATALOADER_WORKER or _shows_child(account):
        return True
    words = (
        r"fork|child|loader[ _-]?worker|\b(?:train\w*|val\w*|eval\w*|data|dataset|fetch\w*|prefetch\w*|decod\w*|augment\w*|preproc\w*)[ _-]worker|(?<!thread )pool worker"
        + (r"|\bworker(?!s? thread)" if forks else "")
    )
    return bool(Account(account.label, account.who).find(words))


@remembered
def _shows_child(account: Account) -> bool:
    """Whether a frame of its stacks, or a word of its label, is one of a child; of very many threads most stand alike."""
    text = "\n".join((account.label, *dict.fromkeys(seen.text for seen in account.seen)))
    return Account(text, account.who).find(CHILD_FRAMES) is not None


def threads_listed(account: Account) -> int:
    """How many threads of a process are listed by gdb's ``info threads`` or counted by the kernel; 0 where none is."""
    rows = {found["number"] for line in account.said.splitlines() if (found := _THREAD.match(line))}
    return len(rows) or int(next((found["count"] for found in _COUNT.finditer(account.said)), 0))


_THREAD = regex(r"\*?\s*(?P<number>\d{1,6})\s+(?:Thread|LWP|process) \S")
_COUNT = regex(r"^Threads:\s*(?P<count>\d{1,6})\s*$", re.M)
