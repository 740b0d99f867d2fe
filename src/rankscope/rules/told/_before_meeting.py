"""Code and commands that keep a rank from a meeting: too few are started, each goes to a port of its own, one waits first."""

# ruff: noqa: E501  (a pattern is one line)
from __future__ import annotations

import itertools
import re

from ...analysis.accounts import accounts, steps_at_end
from ...analysis.case import Case
from ...analysis.file_lines import lines_by_file
from ...analysis.pasted_code import sections
from ...model.patterns import regex
from ...model.ranks import RankSet, ranks_phrase
from ...model.repeated import found_in
from ...model.words import verb
from ._findings import Fact
from ._signs import LIKELY, POSSIBLE
from ._wordings import HALTS

# A port that each process finds for itself.
_OWN_PORT = regex(
    r"MASTER_PORT['\"]?\]? ?=.*(?:free_port|find_port|open_port|random|randint|getsockname|unused_port)|"
    r"tcp://.*(?:free_port|find_port|open_port|randint)",
    re.I,
)


def own_port(case: Case) -> Fact | None:
    """Code in which every process chooses the port of the meeting by itself, right before it goes there."""
    for account in accounts(case):
        lines = [line.text for line in account.code]
        for at, line in enumerate(lines):
            if not found_in(line, _OWN_PORT):
                continue
            near = " ".join(itertools.takewhile(lambda one: not one.startswith("def "), lines[at : at + 8]))
            if re.search(r"init_process_group\(|init_distributed|TCPStore\(", near):
                return Fact("each process chooses another port to meet at", (line,))
    return None


_BLOCKS = regex(r"\.(?:wait|result|get|join|recv|communicate)\(|rpc_sync\(|\binput\(|sleep\(|while .*:$")
_JOINS = regex(r"(?<!def )\b(?:init_process_group|new_group|init_rpc|init_distributed|TCPStore|hvd\.init|barrier)\(")


def waits_first(case: Case) -> Fact | None:
    """Code in which one rank waits for something before it goes to the meeting of all."""
    if not any(one.find(HALTS) for one in accounts(case)):
        return None
    for account in accounts(case):
        for section in sections(account.code):
            waits = next((line for line in section.body if _BLOCKS.search(line)), None)
            joins = next((line for line in section.after if _JOINS.search(line)), None)
            if section.who == "one" and waits and joins and "init" in joins:
                return Fact("one rank waits before it joins", (waits, f"then: {joins}"))
    return None


_WORLD = regex(r"\b(?:--)?world[-_ ]?size[ =:]{1,3}(\d{1,9})\b|\bworld of (?:size )?(\d{1,9})\b", re.IGNORECASE)
PER_NODE = regex(
    r"--n(?:um)?_?proc(?:es(?:ses)?)?[-_]?(?:per[-_](?:node|machine))?[ =](\d{1,9})\b|\bnprocs ?= ?(\d{1,9})\b",
    re.IGNORECASE,
)
_NODES = regex(r"--n?nodes[ =](\d{1,9})\b|--num_machines[ =](\d{1,9})\b", re.IGNORECASE)


# OpenNMT-py and its kin: the ranks that a command starts, each named by its device (onmt/opts.py); other nodes name theirs.
_STARTED = regex(r"(?<![\w-])--?gpu[_-]ranks[ =]+(?P<ranks>\d{1,6}(?:[ ,]+\d{1,6}){0,63})(?![\w.])")


def few_started(case: Case) -> Fact | None:
    """Commands that start fewer processes than the size of the world that the program asks for, and no log that gets on."""
    if any(steps_at_end(case, name) for name in lines_by_file(case)):
        return None
    text = "\n".join(account.said for account in accounts(case))
    world, each = number(_WORLD, text), number(PER_NODE, text)
    if world and each and world > each * (number(_NODES, text) or 1):
        title = f"a world of {world} is asked for, and {each} processes are started on a node"
        return Fact(title, (title,))
    started = RankSet(int(rank) for found in _STARTED.finditer(text) for rank in re.findall(r"\d+", found["ranks"]))
    missing = RankSet(range(min(world or 0, _LARGEST))) - started
    if world and started and missing and len(started) < world:
        are = verb("are", len(started))
        title = f"a world of {world} is asked for, and only {ranks_phrase(started)} {are} started"
        return Fact(title, (title,), ranks=missing, compared=True)
    return None


_LARGEST = 1 << 16  # ranks; who asks for more has mistyped


# A command for several nodes that meet without a rendezvous: what says which node it is, is 0 where nobody sets it (torchrun's
# --node-rank, accelerate's --machine_rank, NODE_RANK of LLaMA-Factory and ms-swift).
_FOR_NODES = regex(
    r"^(?=[^\n]{0,600}\b(?:torchrun|torch\.distributed\.(?:run|launch)|accelerate launch|llamafactory-cli|swift|xtuner)\b)"
    r"[^\n]{0,300}?(?<!\S)(?:NNODES=|--nnodes[= ]|--num_machines[= ])(?:[2-9]|[1-9]\d{1,5})(?!\S)[^\n]*",
    re.MULTILINE,
)
_WHICH_NODE = r"\b(?:NODE_RANK|MACHINE_RANK|GROUP_RANK)\b|--(?:node|machine)[-_]rank\b|--rdzv|\brdzv_|\bmachine_rank\b"


def nodes_alike(case: Case) -> Fact | None:
    """Commands for several nodes, none of which says which of them it is: each node is the first."""
    told = accounts(case)
    if any(one.find(_WHICH_NODE) for one in told) or any(steps_at_end(case, name) for name in lines_by_file(case)):
        return None
    commands = [found.group().strip()[:300] for one in told for found in _FOR_NODES.finditer(one.said)]
    if not commands:
        return None
    title = "no command says which of the nodes it is for, so that each node is the first"
    sure = LIKELY if len(commands) > 1 else POSSIBLE  # of a lone one the rest may be cut
    return Fact(title, tuple(commands[:2]), sure)


_PARTIES = regex(
    r"\bBarrier\( ?(?:parties ?= ?)?(\d{1,6})\b|\bbarrier (?:of|for) (\d{1,6}) (?:parties|threads|workers|members)\b",
    re.IGNORECASE,
)
_AT_ONCE = regex(
    r"\b(?:max_workers|num_parallel_workers|max_threads|n_jobs|pool_size) ?[=:] ?(\d{1,6})\b|"
    r"\b(?:ThreadPool(?:Executor)?|ProcessPoolExecutor|Pool)\( ?(\d{1,6})\b",
    re.IGNORECASE,
)
_MORE_TOLD = (
    r"\bbarrier\b[^\n]{0,60}\b(?:parties|party|members?|count\w*)\b[^\n]{0,80}(?:\b|_)(?:workers?|threads?|tasks?|processes|slots?)\b[^\n]{0,20}\b(?:smaller|fewer|less|lower|below)\b|"
    r"\b(?:fewer|less) (?:\w+ )?(?:workers?|threads?|processes|slots?)\b[^\n]{0,30}\bthan\b[^\n]{0,40}\b(?:parties|members? of the barrier|the barrier)\b|"
    r"\bbarrier\b[^\n]{0,40}\b(?:counts?|waits? for|needs?|expects?)\b[^\n]{0,40}\b(?:more|all)\b[^\n]{0,40}\bthan (?:there are |run |the )?(?:\w+ )?(?:workers?|threads?|processes)\b"
)


def more_parties(case: Case) -> Fact | None:
    """A barrier of more parties than a pool runs at one time: those that wait in it keep the others from their turn."""
    told = accounts(case)
    if not any(one.find(HALTS) for one in told):
        return None
    text = "\n".join(one.said for one in told)
    parties, at_once = number(_PARTIES, text), number(_AT_ONCE, text)
    title = "a barrier waits for more than run at one time"
    if parties and at_once and at_once < parties:
        return Fact(title, (f"the barrier has {parties} parties, and {at_once} run at one time",), compared=True)
    line = next((line for one in told if (line := one.find(_MORE_TOLD, prose=True))), None)
    return Fact(title, (line,), compared=True) if line is not None else None


# Lightning's and others' names for the number of a node; a launcher that sets them itself is seen in the command.
_NODE_OF_OLD = r"^(?:export +)?(?:NODE_RANK|GROUP_RANK|SLURM_NODEID)(?: ?= ?[1-9]\d*\b| (?:is|was) (?:still )?set\b)"
_LAUNCHED = r"\b(?:torchrun|torch\.distributed\.(?:launch|run)|srun|sbatch|mpirun|mpiexec|deepspeed|accelerate launch)\b|--n?nodes?[ =](?!1\b)\d|\bnum_nodes ?= ?(?!1\b)\d|\b(?:second|other|both|two) nodes?\b"
_STARTS = r"\binitializing (?:ddp|distributed)\b|\binit_process_group\b|\bstarting with \d{1,6} processes|\bmember: \d{1,6}/\d"


def another_node(case: Case) -> Fact | None:
    """A program of one node that its environment tells to be another one: it waits for a first node that nobody started."""
    told = accounts(case)
    if any(one.find(_LAUNCHED) for one in told) or not any(one.find(_STARTS) for one in told):
        return None
    line = next((line for one in told if (line := one.find(_NODE_OF_OLD))), None)
    if line is None:
        return None
    sure = POSSIBLE if "set" in line else LIKELY  # that it is set tells no number, which may be 0
    return Fact("the environment tells the only node that it is another one", (line,), sure)


def number(pattern: re.Pattern[str], text: str) -> int | None:
    found = pattern.search(text)
    return next((int(one) for one in found.groups() if one), None) if found else None
