"""``python -m rankscope`` is the command."""

from .cli._start import main

main()
