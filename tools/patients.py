"""The matrix of patients × launchers: what the tool says of each, what is true, and whether they agree (``make patients``)."""

from __future__ import annotations

import argparse
import json
import pathlib
import sys
import tempfile
import time
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "tests"))

from harness import able, judging, patient, saving


def main() -> int:
    options = _options()
    rows = [(card, launcher) for card in _chosen(options) for launcher in _launchers(card, options)]
    warnings.simplefilter("ignore", judging.SecondLook)  # the rows say it
    wrong = skipped = late = undecided = 0
    for _ in range(options.runs):
        for card, launcher in rows:
            missing = able.missing(card, launcher, options.python)
            if missing:
                skipped += 1
                print(f"skip   {card.name:28} {launcher:9} needs {', '.join(missing)}", flush=True)
            elif options.saved:
                word = _examine_saved(card, launcher, options)
                wrong += word == "WRONG"
                undecided += word == "open"
            else:
                right, second = _examine(card, launcher, options)
                wrong += not right
                late += second
    total = len(rows) * options.runs
    right_ones = total - wrong - skipped - undecided
    print(
        f"{right_ones} right, {wrong} wrong, {undecided} undecided, {skipped} skipped of {total}; {late} looked at twice"
    )
    return 1 if wrong else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1, help="how often the whole matrix is gone through")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="only patients with NAME in theirs")
    parser.add_argument("--launcher", help="only this launcher")
    parser.add_argument("--first", action="store_true", help="only the first launcher of each patient")
    parser.add_argument("--python", default=sys.executable, help="interpreter of the patients")
    parser.add_argument("--no-torch", action="store_true", help="only patients of the standard library")
    parser.add_argument("--scope-1", action="store_true", help="look as the job's user where Yama restricts ptrace")
    parser.add_argument(
        "--part", type=_part, default=(1, 1), metavar="I/N", help="only every N-th patient, from the I-th on"
    )
    parser.add_argument(
        "--saved", choices=("plain", "native"),
        help="judge what people save of it, dumps of py-spy with or without native frames, ps and the console, not the job",
    )  # fmt: skip
    parser.add_argument("--keep", type=pathlib.Path, metavar="DIR", help="keep each diagnosis as JSON in DIR")
    return parser.parse_args()


def _part(text: str) -> tuple[int, int]:
    """Which part of how many; ``1/2`` and ``2/2`` beside each other use two cores."""
    part, _, parts = text.partition("/")
    if not (part.isdigit() and parts.isdigit() and 1 <= int(part) <= int(parts)):
        raise argparse.ArgumentTypeError(f"{text!r} is not I/N with I from 1 to N")
    return int(part), int(parts)


def _chosen(options: argparse.Namespace) -> list[patient.Card]:
    cards = [card for card in patient.cards() if not (options.no_torch and card.torch)]
    part, parts = options.part
    named = [card for card in cards if not options.only or any(name in card.name for name in options.only)]
    return named[part - 1 :: parts]


def _launchers(card: patient.Card, options: argparse.Namespace) -> tuple[str, ...]:
    if options.launcher:
        return tuple(name for name in card.launchers if name == options.launcher)
    return card.launchers[:1] if options.first else card.launchers


def _examine(card: patient.Card, launcher: str, options: argparse.Namespace) -> tuple[bool, bool]:
    """Start, look, compare, end; print one line. Whether it was right, and whether that took a second look."""
    begin = time.monotonic()
    try:
        running = patient.start(card.path, launcher, options.python)
    except patient.NotReady as error:
        print(f"WRONG  {card.name:28} {launcher:9} {error}", flush=True)
        return False, False
    try:
        look = judging.diagnose(running, before=judging.SCOPE_1 if options.scope_1 else ())
        errors = judging.mistakes(look, running.truth)
    finally:
        left = running.end()
    if left:
        errors.append(f"left behind: {sorted(left)}")
    _print(card.name, launcher, running.truth, look, errors, time.monotonic() - begin)
    _keep(options.keep, card.name, launcher, running.truth, look, errors)
    return not errors, look.first is not None


def _examine_saved(card: patient.Card, launcher: str, options: argparse.Namespace) -> str:
    """Start, save, end, then judge the files; print one line and say its first word."""
    try:
        running = patient.start(card.path, launcher, options.python)
    except patient.NotReady as error:
        print(f"WRONG  {card.name:36} {error}", flush=True)
        return "WRONG"
    with tempfile.TemporaryDirectory() as kept:
        folder = (options.keep or pathlib.Path(kept)) / card.name
        try:
            judging.wait_until_stuck(running)
            saving.save(running, card.name, folder, native=options.saved == "native")
        finally:
            running.end()
        look = judging.run("analyze", "--json", str(folder))
    truth, verdict = running.truth, (look.diagnosis or {}).get("verdict")
    true = {truth["class"], *truth.get("accept", ())}
    sick = truth["class"] not in (None, *judging.SLOW)
    word = "right" if verdict and verdict["class"] in true else "WRONG" if verdict else "open" if sick else "right"
    said = f"{verdict['class']} {verdict['ranks']} {verdict['certainty']}" if verdict else f"nothing, exit {look.code}"
    print(f"{word:6} {card.name:36} {said} | {truth['class'] or 'healthy'} {truth['ranks']}", flush=True)
    return word if look.diagnosis else "WRONG"


def _print(name: str, launcher: str, truth: dict, look: judging.Look, errors: list[str], took_s: float) -> None:
    verdict = (look.diagnosis or {}).get("verdict")
    said = f"{verdict['class']} {verdict['ranks']} {verdict['certainty']}" if verdict else "nothing"
    true = f"{truth['class']} {truth['ranks']}" if truth["class"] else truth["state"]
    word = "WRONG" if errors else "right"
    twice = ", at the second look" if look.first is not None else ""
    print(f"{word}  {name:28} {launcher:9} {said}{twice} | {true} | {look.took_s:.1f} of {took_s:.1f} s", flush=True)
    for error in errors:
        print(f"         {error}", flush=True)


def _keep(folder: pathlib.Path | None, name: str, launcher: str, truth: dict, look: judging.Look, errors: list) -> None:
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
        record = {"truth": truth, "mistakes": errors, "code": look.code, "stderr": look.errors, "said": look.diagnosis}
        (folder / f"{name}-{launcher}.json").write_text(json.dumps(record, indent=1))


if __name__ == "__main__":
    sys.exit(main())
