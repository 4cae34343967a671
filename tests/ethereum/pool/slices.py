"""Methods that answer in slices."""

from collections.abc import Generator


def result_of(slices: Generator[None, None, bytes]) -> bytes:
    """Return what the method returns in the end."""
    while True:
        try:
            next(slices)
        except StopIteration as end:
            result: bytes = end.value
            return result
