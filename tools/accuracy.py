"""How often the judge is right on a folder of teaching cases: ``python tools/accuracy.py DIR [ID…]``.

A case is a file ``ID.json``: ``id``, ``evidence`` (a list of ``form``, dump or summary, ``label`` and ``text``), ``truth`` (the
``class``, and other classes to ``accept``) and perhaps ``env``. Each is laid out as a directory of files, as somebody would
hold them, and analysed as ``rankscope analyze`` does. The folder is no part of the project: it tells something only while no
rule was made from it.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Certainty, Diagnosis
from rankscope.pipeline import judge


def lay_out(case: dict[str, Any], folder: Path) -> None:
    """The evidence of a case as files: ``NN_label.txt``, and the environment where it is given."""
    for number, item in enumerate(case["evidence"]):
        label = re.sub(r"[^A-Za-z0-9_,.+-]+", "_", item["label"])[:80]
        (folder / f"{number:02d}_{label}.txt").write_text(item["text"])
    if case.get("env"):
        env = case["env"]
        (folder / "environment.txt").write_text(env if isinstance(env, str) else json.dumps(env, indent=1))


def judged(case: dict[str, Any]) -> Diagnosis:
    """What rankscope says of a case."""
    with tempfile.TemporaryDirectory() as folder:
        lay_out(case, Path(folder))
        return judge(gather([folder]))


def mark(case: dict[str, Any], diagnosis: Diagnosis) -> str:
    """right, wrong or undecided."""
    if diagnosis.verdict is None:
        return "undecided"
    good = {case["truth"]["class"], *case["truth"].get("accept", ())}
    return "right" if diagnosis.verdict.cls in good else "wrong"


def main(arguments: list[str] | None = None) -> int:
    """Print one line a case, then the counts; the exit code is 2 where there is no case to judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="DIR", help="the folder of cases")
    parser.add_argument("ids", nargs="*", metavar="ID", help="only these, with all of their findings")
    options = parser.parse_args(arguments)
    paths = chosen(options.folder, options.ids)
    if not paths:
        # A check that looked at nothing must not look like one that found nothing wrong.
        parser.error(f"no case (ID.json) {'of these ' if options.ids else ''}in {options.folder}")
    tally(paths, bool(options.ids))
    return 0


def chosen(folder: Path, ids: list[str]) -> list[Path]:
    """The cases of a folder, or those of these names."""
    return [path for path in sorted(folder.glob("*.json")) if not ids or path.stem in ids]


def tally(paths: list[Path], whole: bool) -> None:
    """Judge the cases and print what came of each, with all findings where ``whole``, and the counts."""
    marks: dict[str, Counter[str]] = {"dump": Counter(), "summary": Counter()}
    confusion: Counter[tuple[str, str]] = Counter()
    wrong_certain = 0
    for path in paths:
        case = json.loads(path.read_text())
        diagnosis = judged(case)
        result = mark(case, diagnosis)
        form = "dump" if any(item["form"] == "dump" for item in case["evidence"]) else "summary"
        marks[form][result] += 1
        verdict = diagnosis.verdict
        said = f"{verdict.cls} ({verdict.certainty.value}) {verdict.title[:70]}" if verdict else "-"
        print(f"{case['id']} {form:7} {result:9} {case['truth']['class']:28} {said}")
        for one in diagnosis.findings if whole else ():
            print("     ", one.kind.value, one.certainty.value, one.rule, one.cls, "|", one.title[:150])
        if result == "wrong" and verdict is not None:
            confusion[case["truth"]["class"], verdict.cls] += 1
            wrong_certain += verdict.certainty is Certainty.CERTAIN
    for form, count in marks.items():
        total = sum(count.values())
        if total:
            right = f"{count['right']}/{total} right ({count['right'] / total:.0%})"
            print(f"{form}: {right}, {count['wrong']} wrong, {count['undecided']} undecided")
    for (truth, taken), number in sorted(confusion.items()):
        print(f"confused: {truth} taken for {taken}: {number}")
    print(f"wrong and certain: {wrong_certain}")


if __name__ == "__main__":
    sys.exit(main())
