"""Rules about what was read from processes: threads, stacks, sockets, locks, recorders; live, or kept in a snapshot."""
