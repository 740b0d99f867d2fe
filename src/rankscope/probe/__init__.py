"""Runs beside the sick process. Standard library only, so that it can be sent to a bare node as one file."""
