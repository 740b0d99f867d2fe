"""One line that makes a job tell everything: ``import rankscope.prepare`` before ``import torch``, or
``python -m rankscope.prepare train.py``.

It notes every call of torch.distributed in a file that can be read from outside even when the process hangs, switches
torch's flight recorder on where it is off by default, and starts torch's worker server on a local socket. Whatever goes wrong
here is swallowed: the job runs as if nobody had asked.
"""

from __future__ import annotations

import contextlib

with contextlib.suppress(Exception):
    from . import hook

    hook.install()
