"""Write dist/rankscope-agent.pyz, the agent as one file, for nodes that it must be carried to by hand.

Equal sources give equal bytes. rankscope itself builds the same archive in memory when it asks other hosts.
"""

from __future__ import annotations

import argparse
import hashlib
from pathlib import Path

from rankscope.reach.ship import pyz


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", nargs="?", type=Path, default=Path("dist/rankscope-agent.pyz"), help="(%(default)s)")
    target = parser.parse_args().target
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(pyz())
    target.chmod(0o755)
    print(f"{target}  {len(pyz())} bytes  sha256 {hashlib.sha256(pyz()).hexdigest()}")


if __name__ == "__main__":
    main()
