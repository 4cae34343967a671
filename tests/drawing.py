"""How many examples a property draws: a third where a run is waited for, all of them in the nightly run.

Runs by hand draw other examples each time, so that together they see more of them than the gate.
"""

import os
from typing import Final

IN_FULL: Final = "WSNODE_NIGHTLY" in os.environ
LEAST: Final = 5


def examples(count: int) -> int:
    """Return how many of `count` examples are drawn now."""
    return count if IN_FULL else min(count, max(count // 3, LEAST))
