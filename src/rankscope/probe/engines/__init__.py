"""One file per engine that reads stacks; each has ``make(proc)`` and the test for whether it can serve at all."""
