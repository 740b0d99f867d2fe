"""Rules about what texts tell: logs, dumps of other tools, the words of people."""
