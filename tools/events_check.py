"""Compare what is read from log samples with what their manifests expect: ``python tools/events_check.py DIR [-v]``.

A manifest is a file ``manifest*.json`` in DIR: ``logs``, each with ``file`` and ``expect``, a list of facts: ``line``, ``event``
and fields of it.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from rankscope.cli.analyze import flat
from rankscope.formats.gather import events
from rankscope.model.evidence.events import Event


def missed(expected: dict[str, Any], read: list[dict[str, Any]]) -> str | None:
    """Why an expected fact was not read, None when it was."""
    same = [item for item in read if item["line"] == expected["line"] and item["event"] == expected["event"]]
    for item in same:
        if all(item.get(key) == value for key, value in expected.items()):
            return None
    return f"{expected} but read {same or [item['event'] for item in read if item['line'] == expected['line']]}"


def main(arguments: list[str] | None = None) -> int:
    """Print what was missed, and how much was read; the exit code is 2 where there is no manifest."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="DIR", help="the folder of samples and manifests")
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="also what is read in lines of which nothing is expected"
    )
    options = parser.parse_args(arguments)
    folder, wanted, hit = options.folder, 0, 0
    manifests = sorted(folder.glob("manifest*.json"))
    if not manifests:
        parser.error(f"no manifest*.json in {folder}")
    for manifest in manifests:
        for log in json.loads(manifest.read_text())["logs"]:
            read = [flat(one) for one in events([folder / log["file"]]) if isinstance(one, Event)]
            named = {fact["line"] for fact in log["expect"]}
            for fact in log["expect"]:
                why = missed(fact, read)
                wanted, hit = wanted + 1, hit + (why is None)
                if why is not None:
                    print(f"missed  {log['file']}: {why}")
            extra = [item for item in read if item["line"] not in named and options.verbose]
            for item in extra:
                print(f"extra   {log['file']}: {str(item)[:200]}")
    print(f"{hit} of {wanted} facts read")
    return 0 if hit == wanted else 1


if __name__ == "__main__":
    sys.exit(main())
