"""Getting to the nodes: one file per transport, each on an existing engine; the agent of ``probe`` travels as one file."""
