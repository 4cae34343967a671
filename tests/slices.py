"""Work that yields between slices, for tests that want its end only."""

from collections.abc import Generator
from typing import Any, TypeVar

from wsnode.jsonrpc.work import ReplyChunks

Result = TypeVar("Result")


def result_of(slices: Generator[Any, Any, Result]) -> Result:
    """Return what is returned in the end."""
    while True:
        try:
            next(slices)
        except StopIteration as end:
            result: Result = end.value
            return result


def text_of(slices: Generator[Any, Any, bytes | ReplyChunks]) -> bytes:
    """Return the text that is returned in the end."""
    result = result_of(slices)
    return b"".join(result) if isinstance(result, ReplyChunks) else result
