"""Judge every vector of a folder and say which answers are exact: ``python tools/vectors.py DIR [--verbose] [ID…]``.

The folder has manifests (``manifest*.json``) whose ``vectors`` each have an ``id``, the ``path`` of a folder of recorder
dumps, perhaps their ``world_size``, and what to ``expect``. A vector is exact when hang, kind, culprits and the call (group,
sequence number, operation, sizes) are right. The exit code is 1 where one is not, 2 where there is none to judge.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from rankscope.analysis.collectives import CollectiveAnalysis, Facts, find
from rankscope.formats import flight_recorder, names
from rankscope.model.evidence.recorder import Recorder


def main(arguments: list[str] | None = None) -> int:
    """Print one line a vector; the exit code is 1 where one is not exact."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="DIR", help="the folder with manifests")
    parser.add_argument("ids", nargs="*", metavar="ID", help="only these")
    parser.add_argument("--verbose", action="store_true", help="print what was found as well")
    options = parser.parse_args(arguments)
    wanted = [vector for vector in vectors(options.folder) if not options.ids or vector["id"] in options.ids]
    if not wanted:
        # A check that looked at nothing must not look like one in which all is exact.
        parser.error(f"no vector {'of these ' if options.ids else ''}in {options.folder} (in any manifest*.json)")
    wrong = 0
    for vector in wanted:
        analysis = judge(options.folder / vector["path"], vector.get("world_size"))
        faults = list(compare(vector["expect"], analysis))
        wrong += bool(faults)
        print(f"{'exact    ' if not faults else 'NOT EXACT'}  {vector['id']:36} {'; '.join(faults)}")
        if options.verbose:
            show(analysis)
    print(f"{len(wanted) - wrong} of {len(wanted)} exact")
    return 1 if wrong else 0


def vectors(where: Path) -> Iterator[dict[str, Any]]:
    """All vectors of all manifests."""
    for manifest in sorted(where.glob("manifest*.json")):
        yield from json.loads(manifest.read_text()).get("vectors", [])


def judge(path: Path, world_size: int | None) -> CollectiveAnalysis:
    """Read every dump below a path, one or several moments, and compare them."""
    moments = load(path)
    if not moments:
        return CollectiveAnalysis()
    earlier = moments[-2] if len(moments) > 1 else {}
    return find(moments[-1], world_size, Facts(earlier=earlier))


def load(path: Path) -> list[dict[int, Recorder]]:
    """Recorders by rank, one mapping per moment (the same rank in sibling folders means two moments)."""
    pool = flight_recorder.Pool()
    files = sorted(file for file in path.rglob("*") if file.is_file())
    named = names.rank_from_names([str(file.relative_to(path)) for file in files])
    found: dict[str, dict[int, Recorder]] = {}
    for file in files:
        data = file.read_bytes()
        if not flight_recorder.recognises(data[:8192]) or (file.suffix == ".json" and "json" in str(file.parent)):
            continue
        recorder = flight_recorder.read(data, file.name, pool)
        if isinstance(recorder, Recorder):
            rank = recorder.rank if recorder.rank is not None else named.get(str(file.relative_to(path)))
            if rank is not None:
                found.setdefault(str(file.parent), {})[rank] = recorder
    return [found[folder] for folder in sorted(found)]


def compare(expect: dict[str, Any], got: CollectiveAnalysis) -> Iterator[str]:
    """What is wrong with an answer."""
    if got.hang != expect["hang"]:
        yield f"hang {got.hang}, not {expect['hang']}"
    if got.kind not in [expect["kind"], *expect.get("accept_kinds", [])]:
        yield f"kind {got.kind}, not {expect['kind']}"
    culprits = sorted(got.culprits)
    if culprits not in [sorted(expect["culprit_ranks"]), *map(sorted, expect.get("accept_culprits", []))]:
        yield f"culprits {culprits}, not {expect['culprit_ranks']}"
    blamed = set(culprits) & set(expect.get("must_not_blame", []))
    if blamed:
        yield f"blames {sorted(blamed)}"
    if expect.get("waiting_ranks") is not None and sorted(got.waiting) != sorted(expect["waiting_ranks"]):
        yield f"waiting {got.waiting}, not {expect['waiting_ranks']}"
    if "cycle_ranks" in expect and [sorted(expect["cycle_ranks"])] != [sorted(cycle) for cycle in got.cycles]:
        yield f"cycles {got.cycles}, not {expect['cycle_ranks']}"
    if expect.get("collective") and got.states:
        yield from compare_call(expect["collective"], got)


def compare_call(expect: dict[str, Any], got: CollectiveAnalysis) -> Iterator[str]:
    """What is wrong with the call named first."""
    state = got.states[0]
    have = {"pg_name": state.group, "pg_desc": state.desc, "pg_ranks": list(state.ranks), "seq": state.seq,
            "op": state.op, "input_sizes": [list(dims) for dims in state.input_sizes],
            "output_sizes": [list(dims) for dims in state.output_sizes], "dtype": state.dtype}  # fmt: skip
    for key, value in expect.items():
        if have.get(key) != value:
            yield f"{key} {have.get(key)}, not {value}"


def show(got: CollectiveAnalysis) -> None:
    """Print what was found."""
    for state in got.states[:6]:
        print(f"    {state.kind} {state.op} #{state.seq} of {state.desc}({state.group}) arrived {state.arrived} "
              f"missing {state.missing} culprits {state.culprits} {state.detail} {state.found}")  # fmt: skip
    print(f"    culprits {got.culprits} waiting {got.waiting} cycles {got.cycles} weak {got.weak} silent {got.silent}")


if __name__ == "__main__":
    sys.exit(main())
