"""Pages about things that belong to no single rule; the docstring of each file here is the page."""
