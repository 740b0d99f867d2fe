"""Faults made to order: jobs that exist on paper, and the dumps that their ranks would leave."""
