"""``python -m rankscope`` is the command."""

from .cli.main import main

main()
