"""Simulated jobs with a known fault: kind, culprit and call must come out exactly, whatever the dumps went through."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from rankscope.analysis.collectives import Facts, find

from .conftest import read
from .sim import Do, Job, flat, mesh, training

SHAPES = [(2, 2), (2, 4), (4, 2), (3, 3)]


def grid(seed: int):
    """A mesh job and a fault in it, drawn by a seed."""
    rnd = random.Random(seed)
    tp, dp = rnd.choice(SHAPES)
    groups = mesh(tp, dp)
    programs = [training(groups, rank, 6) for rank in range(tp * dp)]
    rank = rnd.randrange(tp * dp)
    at = rnd.randrange(12, len(programs[rank]) - 1)
    only_active = rnd.random() < 0.25
    options = {
        "ahead": rnd.choice([1, 2, 4, 9]),
        "capacity": rnd.choice([2000, 2000, 30]),
        "only_active": only_active,
        "backend": "nccl" if only_active else rnd.choice(["nccl", "gloo"]),
    }
    return rnd, groups, programs, rank, at, options


@pytest.mark.parametrize("seed", range(25))
def test_a_rank_that_stops_is_named_with_the_call_it_did_not_reach(judge, seed):
    _, groups, programs, rank, at, options = grid(seed)
    wanted = programs[rank][at]
    found = judge(Job(groups, programs, stops={rank: at}, **options))
    assert (found.kind, list(found.culprits)) == ("missing_rank", [rank])
    assert found.states[0].group == wanted.group
    assert found.states[0].op == wanted.op
    assert rank in found.states[0].missing
    assert rank not in found.waiting


@pytest.mark.parametrize("seed", range(12))
def test_a_healthy_job_accuses_nobody(judge, seed):
    _, groups, programs, _, _, options = grid(seed)
    found = judge(Job(groups, programs, **options))
    assert (found.hang, found.kind, list(found.culprits), found.states) == (False, "no_hang", [], ())


@pytest.mark.parametrize("seed", range(12))
def test_a_rank_without_a_dump_is_suspected_when_nothing_else_explains(judge, seed):
    _, groups, programs, rank, at, options = grid(seed)
    found = judge(Job(groups, programs, stops={rank: at}, no_dump={rank}, **options))
    assert (found.kind, list(found.culprits)) == ("no_evidence_rank", [rank])


@pytest.mark.parametrize("seed", range(12))
def test_lost_dumps_of_others_do_not_hide_the_culprit(judge, seed):
    rnd, groups, programs, rank, at, options = grid(seed)
    lost = set(rnd.sample([other for other in range(len(programs)) if other != rank], 2 if len(programs) > 4 else 1))
    found = judge(Job(groups, programs, stops={rank: at}, no_dump=lost, ahead=options["ahead"]))
    assert (found.kind, list(found.culprits)) == ("missing_rank", [rank])


def test_a_rank_nobody_looked_at_is_not_suspected(judge):
    groups, programs = flat(4, 20)
    job = Job(groups, programs, stops={3: 10}, no_dump={3})
    found = judge(job, Facts(unseen=found_ranks(3)))
    assert (found.kind, list(found.culprits)) == ("no_evidence_rank", [])


def found_ranks(*ranks):
    from rankscope.model.ranks import RankSet

    return RankSet(ranks)


@pytest.mark.parametrize("json", [False, True])
@pytest.mark.parametrize("world", [3, 4, 8])
@pytest.mark.parametrize(
    ("change", "kind"),
    [({"sizes": (999,), "out": (999,)}, "size_mismatch"), ({"dtype": "Half"}, "dtype_mismatch"),
     ({"op": "all_to_all"}, "collective_mismatch")],
)  # fmt: skip
def test_the_minority_of_a_mismatch_is_named(judge, world, change, kind, json):
    groups, programs = flat(world, 30)
    programs[1][14] = replace(programs[1][14], **change)
    found = judge(Job(groups, programs), json=json)
    state = found.states[0]
    assert (found.kind, list(found.culprits), state.seq) == (kind, [1], 15)
    assert state.op == programs[0][14].op
    assert state.found[0][1] == found_ranks(1)
    assert list(found.waiting) == list(range(world))


# Two equal calls in a row cannot be told apart: those places are left out.
@pytest.mark.parametrize("at", [at for at in range(3, 24) if flat(1, 30)[1][0][at] != flat(1, 30)[1][0][at + 1]])
def test_a_swapped_skipped_or_extra_call_is_told_apart(judge, at):
    groups, program = flat(4, 30)
    swapped, skipped, extra = ([list(calls) for calls in program] for _ in range(3))
    swapped[2][at], swapped[2][at + 1] = swapped[2][at + 1], swapped[2][at]
    del skipped[2][at]
    extra[2].insert(at, Do("0", "all_gather", (5,)))
    for programs, word in ((swapped, "opposite order"), (skipped, "left this call out"), (extra, "a call more")):
        found = judge(Job(groups, programs, ahead=9))
        assert (found.kind, list(found.culprits)) == ("collective_mismatch", [2])
        assert word in found.states[0].detail


def test_a_mismatch_of_two_ranks_is_settled_by_what_the_group_usually_does(judge):
    groups, programs = flat(2, 30)
    programs[1][20] = replace(programs[1][20], sizes=(5,), out=(5,))
    assert list(judge(Job(groups, programs)).culprits) == [1]


def test_a_mismatch_of_two_ranks_that_nothing_settles_shows_both(judge):
    groups = {"0": ("default_pg", (0, 1))}
    found = judge(Job(groups, [[Do("0", sizes=(7,))], [Do("0", sizes=(8,))]]))
    assert (found.kind, list(found.culprits)) == ("size_mismatch", [0, 1])


def test_equal_element_counts_in_other_shapes_are_no_mismatch(judge):
    groups = {"0": ("default_pg", (0, 1, 2))}
    programs = [[Do("0", sizes=(6, 3))], [Do("0", sizes=(6, 3))], [Do("0", sizes=(18,))]]
    assert judge(Job(groups, programs, broken={("0", 1)})).kind == "stuck_in_flight"


@pytest.mark.parametrize(("received", "kind"), [((4, 4), "stuck_in_flight"), ((4, 5), "size_mismatch")])
def test_all_to_all_compares_totals(judge, received, kind):
    groups = {"0": ("default_pg", (0, 1))}
    sent = ((6,), (2,))
    programs = [[Do("0", "all_to_all", sizes=sent[rank], out=(received[rank],))] for rank in range(2)]
    assert judge(Job(groups, programs, broken={("0", 1)})).kind == kind


def test_a_call_that_all_issued_and_none_finished_names_nobody(judge):
    groups, programs = flat(4, 20)
    found = judge(Job(groups, programs, broken={("0", 9)}))
    assert (found.kind, list(found.culprits), found.states[0].seq) == ("stuck_in_flight", [], 9)


@pytest.mark.parametrize("backend", ["nccl", "gloo"])
@pytest.mark.parametrize("ahead", [1, 4])
@pytest.mark.parametrize("shape", SHAPES)
def test_opposite_orders_of_groups_are_one_circle(judge, shape, ahead, backend):
    tp, dp = shape
    groups = mesh(tp, dp)
    programs = [training(groups, rank, 3) for rank in range(tp * dp)]
    at = next(number for number, do in enumerate(programs[0]) if groups[do.group][0] == "dp")
    for rank, program in enumerate(programs):
        if (rank // tp + rank % tp) % 2:
            program[at], program[at - 1] = program[at - 1], program[at]
    found = judge(Job(groups, programs, ahead=ahead, backend=backend))
    assert (found.kind, list(found.culprits)) == ("circular_wait", [])
    assert len(found.cycles) == 1
    assert len(found.cycles[0]) >= 2


def test_one_rank_that_goes_another_way_than_all_others_is_named_in_the_circle(judge):
    groups = {"0": ("default_pg", (0, 1, 2, 3)), "1": ("logs", (0, 1, 2, 3))}
    programs = [[Do(group, sizes=(step + 1,)) for step in range(5) for group in ("0", "1")] for _ in range(4)]
    del programs[2][6]
    found = judge(Job(groups, programs, ahead=1))
    assert (found.kind, list(found.culprits), found.cycles) == ("circular_wait", [2], ((0, 1, 2, 3),))
    assert {found.states[0].seq, found.states[1].seq} == {4}


def test_two_stalls_that_have_nothing_in_common_are_both_named(judge):
    groups = {name: group for name, group in mesh(2, 4).items() if group[0] == "tp"}
    programs = [training(groups, rank, 4) for rank in range(8)]
    programs = [[do for do in program if do.group != "0"] for program in programs]
    found = judge(Job(groups, programs, stops={0: 5, 5: 9}))
    assert (found.kind, list(found.culprits)) == ("missing_rank", [0, 5])
    assert [list(state.culprits) for state in found.states[:2]] == [[0], [5]]


def pipeline(stages: int, batched: bool = False):
    groups = {"0": ("default_pg", tuple(range(stages))), "1": ("pp", tuple(range(stages)))}
    programs: list[list[Do]] = []
    for stage in range(stages):
        program = []
        for micro in range(8):
            batch = micro + 1 if batched else 0
            if stage > 0:
                program.append(Do("1", "recv", (4,), peer=stage - 1, batch=batch))
            if stage < stages - 1:
                program.append(Do("1", "send", (4,), peer=stage + 1, batch=batch))
        programs.append([*program, Do("0", "all_reduce", (1,))])
    return groups, programs


@pytest.mark.parametrize("only_active", [False, True])
@pytest.mark.parametrize("capacity", [2000, 12])
@pytest.mark.parametrize("stage", range(4))
def test_a_pipeline_stage_that_stops_is_named(judge, stage, capacity, only_active):
    groups, programs = pipeline(4)
    found = judge(Job(groups, programs, stops={stage: 5}, capacity=capacity, only_active=only_active))
    assert found.kind in ("p2p_unmatched", "missing_rank")
    assert list(found.culprits) == [stage]
    assert judge(Job(*pipeline(4), capacity=capacity, only_active=only_active)).kind == "no_hang"


@pytest.mark.parametrize("only_active", [False, True])
def test_a_message_of_another_size_names_its_two_sides(judge, only_active):
    groups, programs = pipeline(4)
    programs[1][4] = replace(programs[1][4], sizes=(5,))
    found = judge(Job(groups, programs, only_active=only_active, ahead=1))
    assert (found.kind, list(found.culprits), found.states[0].pair) == ("p2p_unmatched", [0, 1], (0, 1))


def test_a_ring_of_sends_is_a_circle(judge):
    groups = {"0": ("default_pg", (0, 1, 2)), "1": ("pp", (0, 1, 2))}
    programs = [
        [Do("0"), Do("1", "send", peer=(rank + 1) % 3), Do("1", "recv", peer=(rank - 1) % 3)] for rank in range(3)
    ]
    found = judge(Job(groups, programs, ahead=1))
    assert (found.kind, list(found.culprits), found.cycles) == ("circular_wait", [], ((0, 1, 2),))


def test_messages_of_one_batch_do_not_wait_for_each_other(judge):
    groups = {"1": ("pp", (0, 1, 2))}
    programs = [[Do("1", "send", peer=(rank + 1) % 3, batch=1), Do("1", "recv", peer=(rank - 1) % 3, batch=1),
                 Do("1", "all_reduce")] for rank in range(3)]  # fmt: skip
    assert judge(Job(groups, programs)).kind == "no_hang"
    assert list(judge(Job(groups, programs, stops={1: 0})).culprits) == [1]


@pytest.mark.parametrize(
    "damage", ["one says too few", "all say too few", "nobody says", "one says nothing", "one name"]
)
@pytest.mark.parametrize("seed", range(6))
def test_wrong_or_missing_lists_of_members_do_not_change_the_answer(seed, damage):
    rnd, groups, programs, rank, at, options = grid(seed)
    job = Job(groups, programs, stops={rank: at}, ahead=options["ahead"]).run()
    dumps = job.dumps()
    names = {name: "0" if desc == "default_pg" else desc for name, (desc, _) in groups.items()}
    for number, dump in dumps.items():
        config = dump["pg_config"]
        if damage == "all say too few" or (damage == "one says too few" and number == 1):
            config["0"]["ranks"] = "[0, 1]"
        elif damage == "nobody says":
            config.clear()
        elif damage == "one says nothing" and number == 1:
            config[rnd.choice(sorted(config))]["ranks"] = "[]"
        elif damage == "one name":  # torch gives the groups of one split the same name
            dump["pg_config"] = {names[name]: {**one, "name": names[name]} for name, one in config.items()}
            for entry in dump["entries"]:
                name, desc = entry["process_group"]
                entry["process_group"] = (names[name], desc)
    job.dumps = lambda: dumps  # type: ignore[method-assign]
    job.run = lambda: job  # type: ignore[method-assign]
    found = find(read(job), len(programs))
    assert (found.kind, list(found.culprits)) == ("missing_rank", [rank])


@pytest.mark.parametrize("seed", range(8))
def test_rings_that_wrapped_at_different_points_are_compared_by_number(seed):
    rnd, groups, programs, rank, at, options = grid(seed)
    found = read(Job(groups, programs, stops={rank: at}, ahead=options["ahead"]))
    ahead = options["ahead"]
    cut = {number: replace(recorder, entries=recorder.entries[-rnd.choice([ahead + 1, ahead + 5, 40]) :])
           for number, recorder in found.items()}  # fmt: skip
    answer = find(cut, len(programs))
    assert (answer.kind, list(answer.culprits)) == ("missing_rank", [rank])


def test_a_rank_whose_device_is_behind_is_named_although_it_waits_too(judge):
    """GIVEN ranks 1 and 2 whose last call never ended on their own devices while it ended everywhere else,
    THEN they are named, with the next call in which the others wait for them."""
    groups, programs = flat(6, 20)
    job = Job(groups, programs, stops={1: 10, 2: 10}).run()
    for rank in (1, 2):
        job.state[rank][-1]["done"] = False
    job.run = lambda: job  # type: ignore[method-assign]
    found = judge(job)
    assert (found.kind, list(found.culprits), found.states[0].seq) == ("missing_rank", [1, 2], 11)


def moment(*stops: int):
    groups, programs = flat(4, 30)
    return read(Job(groups, programs, stops=dict(enumerate(stops)), ahead=1))


def test_two_equal_looks_are_a_hang():
    found = find(moment(20, 20, 20, 8), 4, Facts(earlier=moment(20, 20, 20, 8)))
    assert (found.moving, found.hang, found.kind) == (False, True, "missing_rank")


def test_two_looks_at_different_calls_are_a_job_that_moves():
    found = find(moment(20, 15, 20, 20), 4, Facts(earlier=moment(11, 11, 11, 8)))
    assert (found.moving, found.hang, found.kind) == (True, False, "no_hang")


def test_a_rank_that_all_wait_for_in_both_looks_while_it_moves_is_late():
    found = find(moment(20, 20, 20, 15), 4, Facts(earlier=moment(11, 11, 11, 8)))
    assert (found.moving, found.hang, found.kind, list(found.culprits)) == (True, False, "straggler", [3])


def test_no_recorder_or_a_recorder_that_was_off_says_nothing(judge):
    assert find({}).states == ()
    groups, programs = flat(2, 5)
    off = {rank: replace(recorder, enabled=False) for rank, recorder in read(Job(groups, programs)).items()}
    assert find(off, 2).states == ()
