"""Waiting for other processes."""

import time
from collections.abc import Callable

from tests.node_process import PATIENCE


def until(what: str, condition: Callable[[], object], seconds: float = PATIENCE) -> None:
    """Return once a condition holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"never: {what}"
        time.sleep(0.05)
