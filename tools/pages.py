"""Write the pages that follow from the code: docs/rules, docs/classes.md and docs/commands.

``--check`` writes nothing and fails when a page is not what it should be. The text of a command page is its own help and a
transcript of a real run, kept in docs/commands/_transcripts/NAME.txt; NAME.md beside it explains the transcript.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from rankscope.cli._group import cli
from rankscope.report import pages
from rankscope.rules import rules

DOCS = Path(__file__).resolve().parent.parent / "docs"
TRANSCRIPTS = DOCS / "commands" / "_transcripts"
_MADE = "<!-- made by tools/pages.py; edit {source} -->\n\n"


def _file_of_rule(name: str) -> Path:
    """Where a rule lies, from the root of the project."""
    return next(DOCS.parent.glob(f"src/rankscope/rules/*/{name.replace('-', '_')}.py")).relative_to(DOCS.parent)


def wanted() -> Iterator[tuple[Path, str]]:
    """Every generated page and its text."""
    ruled = [pages.page(rule.id, rule.page, rule.cls) for rule in rules()]
    for one in ruled:
        source = f"the docstring of {_file_of_rule(one.name)}"
        yield DOCS / "rules" / f"{one.name}.md", _MADE.format(source=source) + pages.markdown(one)
    for one in pages.topics():
        source = f"the docstring of src/rankscope/report/topics/{one.name.replace('-', '_')}.py"
        yield DOCS / "topics" / f"{one.name}.md", _MADE.format(source=source) + pages.markdown(one)
    yield DOCS / "classes.md", _MADE.format(source="src/rankscope/model/classes.py") + pages.classes_markdown(ruled)
    yield DOCS.parent / "README.md", _readme()
    for name in cli.list_commands(click.Context(cli)):
        yield DOCS / "commands" / f"{name}.md", _command(name)


def _readme() -> str:
    """README.md with the transcripts that it names put between their marks."""

    def put(found: re.Match[str]) -> str:
        kept = (TRANSCRIPTS / f"{found['name']}.txt").read_text().rstrip()
        return f"<!-- transcript {found['name']} -->\n```text\n{kept}\n```\n<!-- end -->"

    return re.sub(
        r"(?s)<!-- transcript (?P<name>[a-z-]+) -->\n.*?<!-- end -->", put, (DOCS.parent / "README.md").read_text()
    )


def _command(name: str) -> str:
    above = click.Context(cli, info_name="rankscope")
    command = cli.get_command(above, name)
    assert command is not None
    options = {"help_option_names": ["-h", "--help"], "terminal_width": 80, "max_content_width": 80}
    text = command.get_help(click.Context(command, info_name=name, parent=above, **options))
    parts = [f"# rankscope {name}\n", f"```text\n{text.rstrip()}\n```\n"]
    transcript, about = TRANSCRIPTS / f"{name}.txt", TRANSCRIPTS / f"{name}.md"
    if transcript.exists():
        parts.append(f"## A real run\n\n```text\n{transcript.read_text().rstrip()}\n```\n")
    if about.exists():
        parts.append(about.read_text().rstrip() + "\n")
    source = f"src/rankscope/cli/{name.replace('-', '_')}.py and docs/commands/_transcripts/"
    return _MADE.format(source=source) + "\n".join(parts)


def strays(expected: set[Path]) -> list[Path]:
    """Pages of things that are no more."""
    return [
        path for room in ("rules", "commands", "topics") for path in (DOCS / room).glob("*.md") if path not in expected
    ]


def main() -> int:
    """Write all pages, or say which differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a page is not what it should be")
    check = parser.parse_args().check
    made = dict(wanted())
    stale = [path for path, text in made.items() if not path.exists() or path.read_text() != text]
    stray = strays(set(made))
    for path in [] if check else stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(made[path])
    for path in [] if check else stray:
        path.unlink()
    for path in (*stale, *stray):
        print(f"{'not up to date' if check else 'written'}: {path.relative_to(DOCS.parent)}")
    if check and (stale or stray):
        print("run: make docs")
    return int(check and bool(stale or stray))


if __name__ == "__main__":
    sys.exit(main())
