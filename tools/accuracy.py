"""How often the judge is right on a folder of teaching cases: ``python tools/accuracy.py DIR [ID…]``.

Each case is laid out as a directory of files, as somebody would hold them, and analysed as ``rankscope analyze`` does.
"""

from __future__ import annotations

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


def main(folder: Path, only: list[str]) -> int:
    marks: dict[str, Counter[str]] = {"dump": Counter(), "summary": Counter()}
    confusion: Counter[tuple[str, str]] = Counter()
    wrong_certain = 0
    for path in sorted(folder.glob("*.json")):
        if only and path.stem not in only:
            continue
        case = json.loads(path.read_text())
        diagnosis = judged(case)
        result = mark(case, diagnosis)
        form = "dump" if any(item["form"] == "dump" for item in case["evidence"]) else "summary"
        marks[form][result] += 1
        verdict = diagnosis.verdict
        said = f"{verdict.cls} ({verdict.certainty.value}) {verdict.title[:70]}" if verdict else "-"
        print(f"{case['id']} {form:7} {result:9} {case['truth']['class']:28} {said}")
        if only:
            for finding in diagnosis.findings:
                print(
                    "    ",
                    finding.kind.value,
                    finding.certainty.value,
                    finding.rule,
                    finding.cls,
                    "|",
                    finding.title[:150],
                )
        if result == "wrong" and verdict is not None:
            confusion[case["truth"]["class"], verdict.cls] += 1
            wrong_certain += verdict.certainty is Certainty.CERTAIN
    for form, count in marks.items():
        total = sum(count.values())
        if total:
            right = f"{count['right']}/{total} right ({count['right'] / total:.0%})"
            print(f"{form}: {right}, {count['wrong']} wrong, {count['undecided']} undecided")
    for (truth, said), number in sorted(confusion.items()):
        print(f"confused: {truth} taken for {said}: {number}")
    print(f"wrong and certain: {wrong_certain}")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
