"""Files and dumps that other tools wrote, and our own: one file per format.

Every reader of lines sees all of a text and takes its own; what is read in one piece is recognised by its head.
"""
