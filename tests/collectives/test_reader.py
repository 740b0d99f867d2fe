"""Dumps of every age and in every state are read, or refused with a reason; nothing in them is ever executed."""

from __future__ import annotations

import json
import os
import pickle
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankscope.formats import flight_recorder, plain
from rankscope.model.evidence.recorder import Recorder, label_parts
from rankscope.model.gap import Gap, Why
from rankscope.model.ring import Ring

from .sim import Do, Job, as_json, flat, pickled


@pytest.fixture(scope="module")
def dump():
    groups, programs = flat(3, 12)
    return Job(groups, programs, stops={1: 8}).run().dump(0)


def entries(data: bytes):
    found = flight_recorder.read(data)
    assert isinstance(found, Recorder), found
    return found.entries


def test_pickle_and_json_of_one_dump_give_the_same_entries(dump):
    bare = [{**entry, "frames": []} for entry in dump["entries"]]
    assert list(entries(pickled({**dump, "entries": bare}))) == list(entries(as_json(dump)))


def test_every_field_of_the_newest_format_is_kept(dump):
    entry = entries(pickled(dump))[0]
    raw = dump["entries"][0]
    assert (entry.id, entry.group, entry.desc, entry.seq, entry.op) == (0, "0", "default_pg", 1, "all_reduce")
    assert (entry.backend, entry.state, entry.done, entry.timeout_ms) == ("nccl", "completed", True, 600000)
    assert (entry.created_ns, entry.completed_ns) == (raw["time_created_ns"], raw["time_discovered_completed_ns"])
    assert (entry.input_sizes, entry.input_dtypes) == (((128,),), ("Float",))
    assert [(frame.function, frame.file, frame.line) for frame in entry.frames] == [("step", "train.py", 10)]


def test_the_first_formats_are_read():
    """Format 2.0 and 2.1 had one sequence number, a group's name alone, and no word of retirement."""
    old = {"version": "2.1", "nccl_version": "2.19.3", "pg_config": {}, "entries": [
        {"record_id": 4, "pg_id": 1, "pg_name": "1", "seq_id": 9, "profiling_name": "nccl:all_reduce",
         "time_created_ns": 5, "input_sizes": [[2, 3]], "output_sizes": [[2, 3]], "state": "completed",
         "time_discovered_started_ns": None, "time_discovered_completed_ns": 7, "frames": []}]}  # fmt: skip
    entry = entries(pickle.dumps(old))[0]
    assert (entry.group, entry.seq, entry.done, entry.input_sizes) == ("1", 9, True, ((2, 3),))


def test_numbers_written_as_text_and_bare_lists_are_read():
    odd = [
        {"profiling_name": "nccl:all_reduce", "process_group": ["0", "d"], "collective_seq_id": "3", "state": "started"}
    ]
    assert (entries(json.dumps({"entries": odd}).encode())[0].seq, entries(pickle.dumps(odd))[0].state) == (
        3,
        "started",
    )


@pytest.mark.parametrize(("label", "parts"), [
    ("nccl:recv 3<-0", ("nccl", "recv", (0, 3))), ("nccl:send 0->3", ("nccl", "send", (0, 3))),
    ("gloo:all_reduce", ("gloo", "all_reduce", None)), ("xccl:_all_gather_base", ("xccl", "_all_gather_base", None)),
    ("send 2 -> 5", ("", "send", (2, 5))), ("recv ²<-0", ("", "recv ²<-0", None)), ("a->b", ("", "a->b", None)),
    ("all_reduce", ("", "all_reduce", None)), ("hccl:coalesced", ("hccl", "coalesced", None)),
])  # fmt: skip
def test_a_label_is_taken_apart(label, parts):
    assert label_parts(label) == parts


def test_gloo_finishes_operations_although_their_state_never_changes():
    groups, programs = flat(2, 5)
    found = flight_recorder.read(pickled(Job(groups, programs, backend="gloo").run().dump(0)))
    assert isinstance(found, Recorder)
    assert {(entry.state, entry.done) for entry in found.entries} == {("scheduled", True)}


def test_members_of_a_coalesced_call_are_over_when_its_own_entry_is():
    groups, programs = flat(2, 2)
    dump = Job(groups, programs).run().dump(0)
    first, last = dump["entries"]
    first.update(state="scheduled", retired=False, collective_seq_id=1)
    last.update(profiling_name="nccl:coalesced", collective_seq_id=1)
    assert [entry.done for entry in entries(pickled(dump))] == [True, True]


def test_a_dump_of_unfinished_operations_is_known_as_one():
    groups, programs = flat(3, 12)
    whole = flight_recorder.read(pickled(Job(groups, programs, stops={1: 8}).run().dump(0)))
    active = flight_recorder.read(pickled(Job(groups, programs, stops={1: 8}, only_active=True).run().dump(0)))
    assert isinstance(whole, Recorder)
    assert isinstance(active, Recorder)
    assert (whole.only_active, active.only_active) == (False, True)


def test_the_near_end_of_a_message_tells_whose_dump_it_is():
    groups = {"1": ("pp", (4, 9, 6))}
    job = Job(groups, [[] for _ in range(10)])
    job.programs[9] = [Do("1", "recv", peer=0), Do("1", "send", peer=2)]
    found = flight_recorder.read(pickled(job.run().dump(9)), "dump_3")
    assert isinstance(found, Recorder)
    assert found.rank == 9


class Bomb:
    def __reduce__(self):
        return (os.mkdir, ("boom",))


@pytest.mark.parametrize(
    "data",
    [
        b"", b"\x80", b"\x80\x02", b"{", b"[]", b"null", b"\x80\x02}.", b"{}",
        pickle.dumps({"entries": 3}), pickle.dumps({"entries": [{"frames": 7}], "pg_config": {}, "pg_status": 4})[:-9],
        pickle.dumps({"entries": [Bomb()]}), pickle.dumps({"entries": {1, 2}}), pickle.dumps(Bomb),
        b"\x80\x02]r\xff\xff\xff\x7f.",  # a memo of two thousand million places
        b"cos\nsystem\n(S'true'\ntR.", b"\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\x7f.",
        b"\x80\x02" + b"}" * 3_000_000, b"\x80\x02" + b"]" + b"]a" * 200_000, b"[" * 500_000,
    ],
    ids=range(19),
)  # fmt: skip
def test_broken_and_hostile_files_become_gaps(data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = flight_recorder.read(data, "dump_1")
    assert isinstance(found, Gap)
    assert found.why is Why.DAMAGED
    assert not os.listdir(tmp_path)


def test_one_long_list_that_is_referred_to_often_is_not_unfolded():
    shape = [[7] * 50_000]
    groups, programs = flat(2, 4)
    dump = Job(groups, programs).run().dump(0)
    for entry in dump["entries"]:
        entry["input_sizes"] = shape
    dump["entries"] *= 400
    assert isinstance(flight_recorder.read(pickle.dumps(dump, 2)), Gap)


def test_the_limit_of_memory_is_put_back():
    import resource

    before = resource.getrlimit(resource.RLIMIT_AS)
    with pytest.raises(plain.Refused):
        plain.unpickle(b"junk")
    assert resource.getrlimit(resource.RLIMIT_AS) == before


_plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=12), inner, max_size=5),
    max_leaves=25,
)
_fields = st.sampled_from(
    ["record_id", "pg_id", "process_group", "collective_seq_id", "seq_id", "p2p_seq_id", "op_id", "profiling_name", "state",
     "time_created_ns", "input_sizes", "output_sizes", "input_dtypes", "retired", "timeout_ms", "is_p2p", "frames", "pg_name"]
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.lists(st.dictionaries(_fields, _plain, max_size=12), max_size=4), _plain, _plain)
def test_any_plain_content_is_read_or_refused(listed, config, status):
    found = flight_recorder.read(pickle.dumps({"entries": listed, "pg_config": config, "pg_status": status}, 2))
    assert isinstance(found, (Recorder, Gap))
    if isinstance(found, Recorder):
        assert Ring.of(tuple(found.entries)) == found.entries


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_damage_to_a_dump_is_survived(dump, data):
    raw = bytearray(pickled(dump))
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(raw)))
    assert isinstance(flight_recorder.read(bytes(raw[:cut])), (Recorder, Gap))


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_are_survived(raw):
    for start in (b"", b"\x80\x02", b"\x80\x04", b"{"):
        assert isinstance(flight_recorder.read(start + raw), (Recorder, Gap))
        flight_recorder.recognises(start + raw)


def test_equal_calls_of_many_files_take_memory_once():
    groups, programs = flat(2, 400)
    job = Job(groups, programs).run()
    data, pool = pickled(job.dump(0)), flight_recorder.Pool()
    kept = [flight_recorder.read(data, pool=pool)]
    tracemalloc.start()
    kept += [flight_recorder.read(data, pool=pool) for _ in range(10)]
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size / (10 * 400) < 110  # bytes an entry
