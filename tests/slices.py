"""Work that yields between slices, for tests that want its end only."""

from collections.abc import Generator
from typing import Any, TypeVar

Result = TypeVar("Result")


def result_of(slices: Generator[Any, Any, Result]) -> Result:
    """Return what is returned in the end."""
    while True:
        try:
            next(slices)
        except StopIteration as end:
            result: Result = end.value
            return result
