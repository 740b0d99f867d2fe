"""Files and dumps that other tools wrote, and our own: one file per format, each recognises its own content."""
