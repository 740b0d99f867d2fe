"""What the patterns of rules cannot be found without, as the tool keeps it: ``make docs``.

    python tools/needles.py [--check]

``--check`` tells whether the table is of the rules as they are. A pattern that is not in it is parsed where it is asked for.
"""

from __future__ import annotations

import argparse
import importlib
import json
import pkgutil
import sys
from collections.abc import Iterator

from rankscope.analysis import needles
from rankscope.rules import told
from rankscope.rules.told._signs import Sign


def patterns(value: object) -> Iterator[str]:
    """The patterns of the signs in a value of a module, however deep."""
    if isinstance(value, Sign):
        yield from (value.pattern, *value.also, *value.anywhere, *value.unless)
    elif isinstance(value, dict):
        yield from patterns(tuple(value.values()))
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from patterns(item)


def table() -> str:
    """A line for each pattern, and for that with zeros for its digits: whether it stays in a line, whether it is found in zeros,
    and the words of which one each must be there."""
    modules = [importlib.import_module(info.name) for info in pkgutil.iter_modules(told.__path__, f"{told.__name__}.")]
    found = {pattern for module in modules for pattern in patterns(list(vars(module).values()))}
    found |= {needles.zeros_of(pattern) for pattern in found if needles.parsed(pattern).in_zeros}
    rows = sorted((needles.key(pattern), needles.parsed(pattern)) for pattern in found)
    return "{\n" + ",\n".join(f"{json.dumps(key)}: {json.dumps(known)}" for key, known in rows) + "\n}\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail when the table is not of the rules")
    check = parser.parse_args().check
    text = table()
    if check:
        if needles.FILE.read_text(encoding="ascii") != text:
            print("the words of patterns are not those of the rules; run: make docs", file=sys.stderr)
            return 1
        return 0
    needles.FILE.write_text(text, encoding="ascii")
    return 0


if __name__ == "__main__":
    sys.exit(main())
