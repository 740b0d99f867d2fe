"""Programs that compile, where saved evidence shows them at work: who waits for what they build waits for nobody who is gone."""

from __future__ import annotations

from .accounts import accounts
from .case import Case
from .frame_tables import WaitKind

# As they stand in ps: NVIDIA's, AMD's, Amazon's (neuronx-cc, walrus_driver), Huawei's (ccec, bisheng), and the host's.
COMPILERS = (
    r"(?:ptxas|nvcc|ninja|cicc|cc1(?:plus)?|hipcc|clang(?:\+\+)?(?:-\d+)?|g\+\+|gcc|ccec|bisheng|neuronx-cc|"
    r"neuronx_cc|walrus_driver|hlo2penguin|triton|inductor)"
)
# A row of ps or top: it runs at this moment, and does not count as stuck. Where the row has no state, its share of a core tells.
RUNS = (
    rf"^[^\n]*\s(?-i:R)[lsN<+]*\s(?![^\n]*\s\d{{4,}}:\d\d\s)[^\n]*[\s/]{COMPILERS}(?:\s|$)|"
    rf"^\w\S* +\d+ +(?:[2-9]\d|1\d\d)\.\d +\d+\.\d (?![^\n]*\s\d{{4,}}:\d\d\s)[^\n]*[\s/]{COMPILERS}(?:\s|$)"
)


def built(case: Case) -> bool:
    """Whether somebody is shown to build: a process in a build, or a compiler that computes."""
    if any(standing.kind is WaitKind.COMPILE and not standing.member.gone for standing in case.standings.values()):
        return True
    return any(account.find(RUNS) for account in accounts(case))
