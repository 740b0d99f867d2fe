"""Snapshot → case, pure: who is who, what moved, who waits for whom."""
