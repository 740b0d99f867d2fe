"""Learn from known cases which words speak for which class: ``python tools/learn.py [--check | --figures]``.

Writes ``weights.tsv`` and ``threads.tsv`` in ``analysis/likeness``, from the corpus, the texts of tests/rules and what was
written from general knowledge (``lessons/``); needs scikit-learn (``make learn``).
``--figures`` prints how well it does on cases that it has not learned from; ``--check`` only tells whether the table is of the
cases as they are, and needs nothing.
"""

from __future__ import annotations

import argparse
import collections
import hashlib
import math
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from rankscope.analysis.likeness import says_something, table, threads, words
from rankscope.formats.gather import gather
from rankscope.pipeline import case_of

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from harness.known_cases import KnownCase, known, lessons

_REGULARITY = 30.0  # chosen by --figures, as the next
_LEAST = 5  # tenths: smaller weights change nothing
_MOST_STEPS = 300  # it takes some seventy
_FOLDS = 10
# How often each class was the truth of fifty public hangs, collected as people met them. Known cases were sought by class, so
# that learning takes all classes for equally frequent.
_MET = {
    "collective-missed-by-rank": 7, "fork-with-threads": 6, "collective-mismatch": 3, "version-bug": 3, "gil-deadlock": 3,
    "wrong-interface": 2, "lock-order-deadlock": 2, "straggler-slow-rank": 2, "file-lock-stale": 1, "rendezvous-port": 1,
    "shm-exhausted": 1, "oom-kill": 1, "not-a-hang-slow": 1, "ib-transport-error": 1, "device-mapping": 1,
    "fork-after-device-init": 1, "dataloader-worker-deadlock": 1, "dead-rank": 1, "compile-worker": 1,
    "file-lock-unsupported": 1, "p2p-iommu-hardware": 1, "queue-pipe-full": 1, "import-lock": 1, "resource-limit": 1,
    "gpu-hardware-fault": 1, "implicit-sync-deadlock": 1, "cuda-async-error": 1,
}  # fmt: skip
_OF_MET = 0.4  # fifty are few: so much of what they say is believed
_WELL = 0.3  # healthy runs are not among them; chosen so that not more of them are accused than without all this
_RAREST = 60  # words that tell one thread from another
_LESSON = 0.5  # what a text of general knowledge counts beside a case; chosen on threads that nothing had learned from
_ALSO = 0.2  # what another class that would be right counts beside the one that is; chosen by --figures


class Lesson(NamedTuple):
    """Words that stand for a class, and how much they count."""

    cls: str
    words: Sequence[str]
    weight: float = 1.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="fail when the table is not of the cases as they are")
    parser.add_argument("--figures", action="store_true", help="cross-validate; write nothing")
    options = parser.parse_args()
    cases, written = tuple(known()), tuple(lessons())
    if options.check:
        why = stale((*cases, *written))
        print(why or "", end="\n" if why else "", file=sys.stderr)
        return bool(why)
    said, told = [read(case) for case in cases], [mechanism(case) for case in cases]
    taught = [Lesson(case.cls, read(case), _LESSON) for case in written]
    if options.figures:
        figures(cases, said, told, taught)
    else:
        text = learned(cases, said, told, taught, digest((*cases, *written)))
        both = ((table.FILE, text), (threads.FILE, listed(cases, said, table.parse(text))))
        # Both or none: a letter that is not ASCII is found before anything is written.
        for file, content in [(file, content.encode("ascii")) for file, content in both]:
            file.write_bytes(content)
        print(f"{len(cases)} cases, {len(taught)} lessons, {text.count(chr(10)) - 5} words, {len(text) >> 10} KiB")
    return 0


def stale(cases: Sequence[KnownCase]) -> str | None:
    """Why the table is not of these cases, None where it is."""
    if f"# cases: {digest(cases)}\n" in table.FILE.read_text(encoding="ascii"):
        return None
    return "the known cases have changed since their words were learned: run `make learn`"


def digest(cases: Sequence[KnownCase]) -> str:
    """One number for all that is learned from, whatever its order."""
    ones = sorted(
        f"{' '.join([case.cls, *case.also])} {hashlib.sha256(repr((case.items, case.mechanism)).encode()).hexdigest()}"
        for case in cases
    )
    return hashlib.sha256("\n".join(ones).encode()).hexdigest()


def read(case: KnownCase) -> list[str]:
    """The words that the judge would see of a case."""
    with tempfile.TemporaryDirectory() as folder:
        case.lay_out(Path(folder))
        return sorted(words(case_of(gather([folder]))))


def mechanism(case: KnownCase) -> list[str]:
    """The words in which a reader of a case told its mechanism, read as if they were evidence."""
    return read(replace(case, items=(("evidence", case.mechanism),))) if case.mechanism else []


def learned(
    cases: Sequence[KnownCase],
    said: Sequence[list[str]],
    told: Sequence[list[str]],
    taught: Sequence[Lesson],
    made_from: str = "",
) -> str:
    """The table as a text, quantised to tenths, so that it can be read and compared; ``made_from`` is the number of it all."""
    shown = [Lesson(case.cls, words) for case, its in zip(cases, zip(said, told)) for words in its if words]
    others = [
        Lesson(cls, words, _ALSO) for case, words in zip(cases, said) for cls in case.also if cls != table.HEALTHY
    ]
    rarity, model = _fit([*shown, *taught], others)
    classes = [str(name) for name in model.classes_]
    count = collections.Counter(case.cls for case in cases)
    lines = [
        "# made by tools/learn.py from known cases; a line is: word, rarity, then class:weight in tenths",
        f"# cases: {made_from}",
        " ".join(["classes", *classes]),
        " ".join(["cases", *(str(count[name]) for name in classes)]),
        " ".join(["rest", *(f"{bias + usual:.2f}" for bias, usual in zip(model.intercept_, _usual(classes)))]),
    ]
    for at, word in enumerate(rarity.get_feature_names_out()):
        numbers = (round(number * rarity.idf_[at] * table.SCALE) for number in model.coef_[:, at])
        adds = [f"{index}:{number}" for index, number in enumerate(numbers) if abs(number) >= _LEAST]
        lines.append(" ".join([word, str(round(rarity.idf_[at] * table.SCALE)), *adds]))
    return "\n".join(lines) + "\n"


def _usual(classes: Sequence[str]) -> list[float]:
    """What is to be added to the score of each class, in logarithms, since it is met more often than others, or less."""
    rates = [0.0 if name == table.HEALTHY else math.log(_MET.get(name, 0) + 1) for name in classes]
    mean = sum(rates) / (len(rates) - 1)
    return [_WELL if name == table.HEALTHY else _OF_MET * (rate - mean) for name, rate in zip(classes, rates)]


def listed(cases: Sequence[KnownCase], said: Sequence[list[str]], weights: table.Weights) -> str:
    """The public threads: link, class and the rarest words of each, first those that no other has.

    A blank stands on both sides of each word, also of the last: the text is searched as it is.
    """
    lines = ["# made by tools/learn.py from corpus/; a line is: link, class, then the rarest words of its evidence"]
    for case, its in zip(cases, said):
        if case.links:
            known = sorted(filter(says_something, its), key=lambda word: (-_how_rare(weights, word), word))
            lines.append(" ".join([case.links[0], case.cls, *known[:_RAREST], ""]))
    return "\n".join(lines) + "\n"


def _how_rare(weights: table.Weights, word: str) -> float:
    return weights.rarity(word) if word in weights.words else math.inf


def _fit(lessons: Sequence[Lesson], others: Sequence[Lesson]) -> tuple[Any, Any]:
    """How rare each word is in the lessons, and how much it tells, to which the others add: the same words of other classes."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    rarity = TfidfVectorizer(analyzer=list, min_df=2, binary=True).fit([each.words for each in lessons])
    model = LogisticRegression(C=_REGULARITY, class_weight="balanced", max_iter=_MOST_STEPS)
    every = (*lessons, *others)
    seen = rarity.transform([each.words for each in every])
    return rarity, model.fit(seen, [each.cls for each in every], sample_weight=[each.weight for each in every])


def figures(
    cases: Sequence[KnownCase], said: Sequence[list[str]], told: Sequence[list[str]], taught: Sequence[Lesson]
) -> None:
    """How often the class is right on public threads that were left out, and how often a healthy bundle is accused.

    All cases of a thread are left out together.
    """
    from sklearn.model_selection import GroupKFold

    from rankscope.analysis.likeness import compare

    marks: collections.Counter[tuple[str, str]] = collections.Counter()
    for learn, test in GroupKFold(_FOLDS, shuffle=True, random_state=0).split(said, groups=together(cases)):
        weights = table.parse(learned(*([each[at] for at in learn] for each in (cases, said, told)), taught))
        for case, its in ((cases[at], said[at]) for at in test):
            marks[_kind(case), _mark(case, compare(weights, its).nearest)] += 1
    for kind in dict.fromkeys(kind for kind, _ in sorted(marks)):
        its_marks = {mark: number for (one, mark), number in sorted(marks.items()) if one == kind}
        total = sum(its_marks.values())
        print(f"{kind:22}" + ", ".join(f"{number} {mark} ({number / total:.0%})" for mark, number in its_marks.items()))


def together(cases: Sequence[KnownCase]) -> list[int]:
    """A number for each case; those of one thread share it, also by way of a third."""
    numbers = list(range(len(cases)))
    first: dict[str, int] = {}
    for at, case in enumerate(cases):
        for link in case.links:
            known, new = numbers[first.setdefault(link.lower().partition("#")[0], at)], numbers[at]
            if known != new:
                numbers = [known if number == new else number for number in numbers]
    return numbers


def _kind(case: KnownCase) -> str:
    folder = "corpus" if "corpus" in case.path.parts else "tests"
    return f"{folder}, {table.HEALTHY if case.cls == table.HEALTHY else 'sick'}"


def _mark(case: KnownCase, said: str | None) -> str:
    if said is None:
        return "silent"
    return "right" if said in {case.cls, *case.also} else "wrong"


if __name__ == "__main__":
    sys.exit(main())
