"""How much Python a piece of code runs."""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


class LineCount:
    """Lines of Python that were run, and the names of the functions that they belong to."""

    def __init__(self) -> None:
        self.lines = 0
        self.functions: set[str] = set()

    def trace(self, frame: FrameType, event: str, _argument: Any) -> Any:
        """Count one event of `sys.settrace`."""
        if event == "call":
            self.functions.add(frame.f_code.co_qualname)
        self.lines += event == "line"
        return self.trace


@contextmanager
def counting_lines() -> Iterator[LineCount]:
    """Count the lines that the body runs, and none of what garbage of other tests has to say at its end."""
    count, before, collects = LineCount(), sys.gettrace(), gc.isenabled()
    gc.disable()
    sys.settrace(count.trace)
    try:
        yield count
    finally:
        sys.settrace(before)
        if collects:
            gc.enable()
