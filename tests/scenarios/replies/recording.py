"""The recorded replies, in a compressed file beside this module."""

import json
import lzma
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

RECORDED = Path(__file__).parent / "recorded.xz"
"""A line of JSON for each conversation: for each burst a list of replies."""
_TEXT = re.compile(r'("code":-?[0-9]+),"message":"(?:[^"\\]|\\.)*"')


def read_recording() -> Iterator[list[list[str]]]:
    """Yield the replies of one conversation after another."""
    with lzma.open(RECORDED, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def write_recording(replies: Sequence[Sequence[Sequence[str]]]) -> None:
    """Record the replies of all conversations."""
    with lzma.open(RECORDED, "wt", encoding="utf-8", preset=9) as file:
        file.writelines(json.dumps(each) + "\n" for each in replies)


def without_texts(replies: Sequence[str] | None) -> list[str] | None:
    """Return replies without the texts of their errors, which may be improved."""
    return None if replies is None else sorted(_TEXT.sub(r"\1", reply) for reply in replies)
