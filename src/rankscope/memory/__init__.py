"""One process's memory, read without stopping it: the interpreter, torch's recorder, lock owners. Standard library only."""
