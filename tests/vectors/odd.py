"""Dumps as they come from people: odd files, odd numbers, odd jobs. Each function makes one directory and knows the answer."""

from __future__ import annotations

import copy
import gzip
import io
import json
import pickle
import random
import tarfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from . import programs
from .machine import Call, Groups, Job, Program, Sync
from .writing import Dump, Style, dump

SECOND = 10**9
Dumps = dict[int, Dump]
MISSED = ("missing_rank",)


@dataclass(frozen=True)
class Odd:
    """Files by name, and what an expert who knows the fault would say: one of these sets of ranks, one of these kinds."""

    files: dict[str, bytes]
    ranks: tuple[tuple[int, ...], ...] = ((),)
    kinds: tuple[str, ...] = ()


ODD: dict[str, Callable[[], Odd]] = {}


def odd(make: Callable[[], Odd]) -> Callable[[], Odd]:
    ODD[make.__name__] = make
    return make


def dumps(job: Job, style: Style = Style()) -> Dumps:  # noqa: B008  (frozen)
    return {rank: dump(job, rank, style) for rank in range(len(job.programs))}


def stopped(world: int = 4, rank: int = 2, at: int = 12, style: Style = Style()) -> Dumps:  # noqa: B008
    """A data-parallel job in which one rank goes another way."""
    groups, rows = programs.data_parallel(world, 6)
    return dumps(Job(groups, rows, 4, stops={rank: at}).run(), style)


def packed(made: Dumps, name: str = "rank_{}", as_json: bool = False) -> dict[str, bytes]:
    return {
        name.format(rank): json.dumps(one).encode() if as_json else pickle.dumps(one, protocol=2)
        for rank, one in made.items()
    }


def changed(made: Dumps, change: Callable[[int, dict[str, Any]], None]) -> Dumps:
    """Each entry of each rank, changed."""
    for rank, one in made.items():
        for entry in one["entries"]:
            change(rank, entry)
    return made


Row = tuple[Any, ...]


def written(rows: Callable[[int], list[Row]], world: int = 4, backend: str = "nccl") -> Dumps:
    """Dumps from rows of (operation, input sizes, output sizes, over, type)."""
    made = {}
    for rank in range(world):
        entries = []
        for at, (op, inputs, outputs, over, *rest) in enumerate(rows(rank)):
            dtype = rest[0] if rest else "Float"
            entries.append({
                "record_id": at, "pg_id": 0, "process_group": ("0", "default_pg"), "collective_seq_id": at + 1, "p2p_seq_id": 0,
                "op_id": at + 1, "profiling_name": f"{backend}:{op}", "time_created_ns": SECOND * (at + 1) + rank,
                "input_sizes": inputs, "output_sizes": outputs, "input_dtypes": [dtype] * len(inputs),
                "output_dtypes": [dtype] * len(outputs), "state": "completed" if over else "scheduled",
                "time_discovered_started_ns": None, "time_discovered_completed_ns": 9 if over else None, "retired": over,
                "timeout_ms": 600000, "is_p2p": False, "frames": [],
            })  # fmt: skip
        config = {"0": {"name": "0", "desc": "default_pg", "ranks": str(list(range(world)))}}
        made[rank] = {"version": "2.10", "entries": entries, "pg_config": config, "pg_status": {}}
    return made


REDUCE = ("all_reduce", [[4]], [[4]])


def ends(last: Callable[[int], list[Row]], world: int = 4) -> Dumps:
    """Three all-reduces that are over on all, and then what each rank does."""
    return written(lambda rank: [(*REDUCE, True)] * 3 + last(rank), world)


def ran(groups: Groups, rows: list[Program], **more: Any) -> dict[str, bytes]:
    return packed(dumps(Job(groups, rows, more.pop("window", 4), **more).run()))


# Files


@odd
def packed_and_archived() -> Odd:
    made, held = packed(stopped()), io.BytesIO()
    with tarfile.open(fileobj=held, mode="w:gz") as archive:
        for name in ("rank_2", "rank_3"):
            about = tarfile.TarInfo(f"below/{name}")
            about.size = len(made[name])
            archive.addfile(about, io.BytesIO(made[name]))
    rest = {f"{name}.gz": gzip.compress(made[name]) for name in ("rank_0", "rank_1")}
    return Odd({**rest, "rest.tgz": held.getvalue()}, ((2,),), MISSED)


@odd
def names_say_places_in_groups_too() -> Odd:
    made = stopped()
    return Odd({f"rank{r}_pp0_tp{r % 2}_dp{r // 2}.pickle": pickle.dumps(one, protocol=2) for r, one in made.items()},
               ((2,),), MISSED)  # fmt: skip


@odd
def the_content_says_the_rank_and_names_say_nothing() -> Odd:
    made = {rank: {**one, "rank": rank} for rank, one in stopped().items()}
    return Odd(
        {f"{'abcd'[r]}{r * 7919 % 10007}.bin": pickle.dumps(one, protocol=2) for r, one in made.items()},
        ((2,),),
        MISSED,
    )


@odd
def one_file_holds_all_ranks() -> Odd:
    made = stopped(style=Style(json=True))
    return Odd({"job.json": json.dumps({str(rank): one for rank, one in made.items()}).encode()}, ((2,),), MISSED)


@odd
def json_begins_with_a_byte_order_mark_and_has_no_version() -> Odd:
    made = stopped(style=Style(json=True))
    for one in made.values():
        del one["version"]
    return Odd(
        {name: b"\xef\xbb\xbf" + data for name, data in packed(made, "fr_{}.json", True).items()}, ((2,),), MISSED
    )


@odd
def a_hostile_pickle_and_a_copy_lie_beside() -> Odd:
    made = packed(stopped())
    made.update({"rank_9": b"\x80\x02cos\nsystem\nX\x04\x00\x00\x00true\x85R.", "copy/rank_0": made["rank_0"]})
    return Odd(made, ((2,),), MISSED)


@odd
def the_file_of_a_victim_is_cut() -> Odd:
    made = packed(stopped(8))
    made["rank_5"] = made["rank_5"][:99]
    return Odd(made, ((2,),), MISSED)


@odd
def the_file_of_the_absent_rank_is_empty() -> Odd:
    return Odd({**packed(stopped()), "rank_2": b""}, ((2,),), ("no_evidence_rank",))


@odd
def only_one_of_eight_files_was_gathered() -> Odd:
    """Nobody can be named."""
    made = stopped(8, 6)
    return Odd(packed({3: made[3]}), ((),), ("no_evidence_rank",))


@odd
def three_of_eight_files_were_gathered_one_of_them_the_culprits() -> Odd:
    made = stopped(8, 6)
    return Odd(packed({rank: made[rank] for rank in (0, 5, 6)}), ((6,),), MISSED)


@odd
def releases_of_four_years_in_one_job() -> Odd:
    groups, rows = programs.data_parallel(4, 6)
    job = Job(groups, rows, 4, stops={2: 12}).run()
    return Odd(packed({rank: dump(job, rank, Style(version=f"2.{minor}")) for rank, minor in enumerate((1, 4, 9, 10))}),
               ((2,),), MISSED)  # fmt: skip


# Numbers


@odd
def clocks_are_hours_apart_and_rings_have_turned() -> Odd:
    groups, rows = programs.data_parallel(4, 60)
    made = dumps(Job(groups, rows, 4, stops={1: 200}).run(), Style(capacity=50))

    def later(rank: int, entry: dict[str, Any]) -> None:
        for key in ("time_created_ns", "time_discovered_completed_ns"):
            entry[key] = entry[key] and entry[key] - rank * 5 * 3600 * SECOND

    return Odd(packed(changed(made, later)), ((1,),), MISSED)


@odd
def no_times_and_no_time_outs() -> Odd:
    def forget(_: int, entry: dict[str, Any]) -> None:
        entry.update(time_created_ns=0, time_discovered_completed_ns=None, timeout_ms=0)

    return Odd(packed(changed(stopped(), forget)), ((2,),), MISSED)


@odd
def rings_begin_at_different_places() -> Odd:
    groups, rows = programs.mesh_of(2, 1, 2, 60)
    made = dumps(Job(groups, rows, 4, stops={3: 700}).run())
    for rank, one in made.items():
        one["entries"] = one["entries"][-(40 + 37 * rank) :]
    return Odd(packed(made), ((3,),), MISSED)


@odd
def counters_lag_behind_the_entries() -> Odd:
    made = stopped()
    for one in made.values():
        for counters in one["pg_status"].values():
            counters["last_enqueued_collective"] -= 3
    return Odd(packed(made), ((2,),), MISSED)


@odd
def one_rank_was_dumped_whole_the_others_active_only() -> Odd:
    made = stopped()
    for rank in (0, 2, 3):
        made[rank]["entries"] = [entry for entry in made[rank]["entries"] if entry["state"] != "completed"]
    return Odd(packed(made), ((2,),), MISSED)


@odd
def the_absent_rank_dumped_groups_and_nothing_else() -> Odd:
    made = stopped()
    made[2].update(entries=[], pg_status={})
    return Odd(packed(made), ((2,),), MISSED)


@odd
def entries_are_shuffled() -> Odd:
    made = stopped()
    for rank, one in made.items():
        random.Random(rank).shuffle(one["entries"])
    return Odd(packed(made), ((2,),), MISSED)


@odd
def the_watchdog_gave_all_open_calls_up() -> Odd:
    def give_up(_: int, entry: dict[str, Any]) -> None:
        entry["retired"] = True

    return Odd(packed(changed(stopped(), give_up)), ((2,),), MISSED)


@odd
def a_group_that_was_aborted_long_ago_keeps_an_open_call() -> Odd:
    made = stopped()
    for one in made.values():
        old = {**copy.deepcopy(one["entries"][0]), "process_group": ("9", "old"), "pg_id": 5, "state": "scheduled",
               "time_discovered_completed_ns": None}  # fmt: skip
        one["entries"].insert(0, old)
        one["pg_config"]["9"] = {"name": "9", "desc": "old", "ranks": "[0, 1, 2, 3]"}
        for at, entry in enumerate(one["entries"]):
            entry["record_id"] = at
    return Odd(packed(made), ((2,),), MISSED)


@odd
def one_list_of_members_names_a_rank_that_never_was() -> Odd:
    made = stopped()
    made[0]["pg_config"]["0"]["ranks"] = "[0, 1, 2, 3, 4]"
    return Odd(packed(made), ((2,), (2, 4)))


# Calls


@odd
def parts_and_roots_differ_rightly_before_one_is_absent() -> Odd:
    def rows(rank: int) -> list[Row]:
        parts = [[3 + at] for at in range(4)]
        return [("gather", [[3 + rank]], parts if rank == 0 else [], True), ("all_to_all", [[10 + rank]], [[13 - rank]], True),
                ("scatter", [[4]] * 4 if rank == 1 else [], [[4]], True), ("all_gather", [[3 + rank]], parts, True),
                *([(*REDUCE, False)] if rank != 3 else [])]  # fmt: skip

    return Odd(packed(written(rows)), ((3,),), MISSED)


@odd
def parts_of_an_all_to_all_are_in_flight() -> Odd:
    return Odd(
        packed(ends(lambda rank: [("all_to_all", [[10 + rank]], [[13 - rank]], False)])), ((),), ("stuck_in_flight",)
    )


@odd
def two_ranks_gather_as_the_root() -> Odd:
    return Odd(packed(ends(lambda rank: [("gather", [[3]], [[3]] * 4 if rank in (2, 3) else [], False)])), ((),),
               ("argument_mismatch",))  # fmt: skip


@odd
def one_shape_is_another_and_the_count_is_the_same() -> Odd:
    def last(rank: int) -> list[Row]:
        size = [[2, 2]] if rank == 1 else [[4]]
        return [("all_reduce", size, size, False)] if rank != 3 else []

    return Odd(packed(ends(last)), ((3,),), MISSED)


@odd
def three_parties() -> Odd:
    others = {1: ("broadcast", [[4]], [[4]], False), 2: ("barrier", [], [], False)}
    return Odd(packed(ends(lambda rank: [others.get(rank, (*REDUCE, False))], 5)), ((1, 2),), ("collective_mismatch",))


@odd
def the_larger_part_never_came() -> Odd:
    """They did not, and it may be the other's call that is one too many."""
    return Odd(packed(ends(lambda rank: [(*REDUCE, False)] if rank == 1 else [], 6)), ((0, 2, 3, 4, 5), (1,)))


@odd
def two_faults_in_two_groups() -> Odd:
    groups, rows = programs.mesh_of(4, 1, 4, 4)
    tensor = programs.MEGATRON["tp"]
    rows = [[step for step in row if isinstance(step, Sync) or groups[step.group][0] == tensor] for row in rows]
    at = [at for at, step in enumerate(rows[9]) if isinstance(step, Call)][8]
    call = rows[9][at]
    rows[9][at] = replace(
        call, sizes=(call.sizes[0] + 5, *call.sizes[1:]), out=call.out and (call.out[0] + 20, *call.out[1:])
    )
    return Odd(ran(groups, rows, stops={3: 10}), ((3, 9),))


@odd
def a_group_of_two_of_which_one_left_a_call_out() -> Odd:
    """Both wait for each other; the other group of that kind tells who is right."""
    groups: Groups = {"0": ("default_pg", (0, 1, 2, 3)), "1": ("tp", (0, 1)), "2": ("tp", (2, 3))}
    rows = [[Call("0", "broadcast", (3,)), *[Call(str(1 + rank // 2), "all_reduce", (8,))] * (6 - (rank == 3)),
             Call("0", "barrier", ())] for rank in range(4)]  # fmt: skip
    return Odd(ran(groups, rows, window=1), ((3,),), MISSED)


@odd
def half_of_the_ranks_go_round_the_other_way() -> Odd:
    """No side is more to blame."""
    groups: Groups = {"0": ("default_pg", (0, 1, 2, 3)), "1": ("tp", (0, 1)), "2": ("tp", (2, 3)), "3": ("dp", (0, 2)),
                      "4": ("dp", (1, 3))}  # fmt: skip
    rows = []
    for rank in range(4):
        pair = [Call(str(1 + rank // 2), "all_reduce", (8,)), Call(str(3 + rank % 2), "all_reduce", (9,))]
        rows.append(pair * 4 + (pair if rank in (0, 3) else pair[::-1]))
    return Odd(ran(groups, rows, window=1), ((),), ("circular_wait",))


@odd
def many_groups_and_one_rank_that_stops() -> Odd:
    rnd, groups = random.Random(5), {"0": ("default_pg", tuple(range(16)))}
    for at in range(1, 201):
        groups[str(at)] = (f"g{at % 7}", tuple(sorted(rnd.sample(range(16), 4))))
    order = [str(rnd.randrange(1, 201)) for _ in range(300)]
    rows = [[Call("0", "broadcast", (9,)), *(Call(name, "all_reduce", (16,)) for name in order if rank in groups[name][1])]
            for rank in range(16)]  # fmt: skip
    return Odd(ran(groups, rows, window=2, stops={7: 30}), ((7,),), MISSED)


@odd
def messages_in_batches_posted_in_another_order_meet() -> Odd:
    groups, rows = programs.mesh_of(1, 4, 1, 6, batched=True)
    row = rows[1]
    for at in range(len(row) - 1):
        pair = row[at : at + 2]
        if (
            all(isinstance(step, Call) and step.batch for step in pair)
            and pair[0].batch == pair[1].batch
            and pair[0].op == "send"
        ):
            row[at : at + 2] = pair[::-1]
    return Odd(ran(groups, rows), ((),), ("no_hang",))


@odd
def one_rank_has_a_group_of_its_own() -> Odd:
    groups, rows = programs.data_parallel(4, 6)
    made = dumps(Job(groups, rows, 4).run())
    for number in range(5):
        own = {**copy.deepcopy(made[0]["entries"][-1]), "process_group": ("77", "log"), "pg_id": 3}
        made[0]["entries"].append({**own, "collective_seq_id": number + 1, "record_id": len(made[0]["entries"])})
    made[0]["pg_config"]["77"] = {"name": "77", "desc": "log", "ranks": "[0]"}
    return Odd(packed(made), ((),), ("no_hang",))
