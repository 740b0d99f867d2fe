"""Looks like a rank of a job and stands still; costs nothing to start."""

import time


def stand() -> None:
    print("standing", flush=True)
    while True:
        time.sleep(3600)


stand()
