"""rankscope: which rank hangs, kills or slows a distributed Python job, and why."""

__version__ = "0.1.0"
