"""Text of other parties, made fit for a terminal."""

from typing import Final

from wsnode.ethereum.codec.addresses import checksummed
from wsnode.untrusted import decoding

SHOWN_CHARACTERS: Final = 300
"""Maximum characters of a text, such as a contract's reason of a failure."""


def printable(text: str, most: int = SHOWN_CHARACTERS) -> str:
    """Return a text without control sequences for a terminal, cut to `most` characters."""
    shown = decoding.printable(text[:most])
    return shown if len(text) <= most else f"{shown}…"


def address(text: str) -> str:
    """Return an address with its checksum, any other text without control sequences."""
    try:
        content = bytes.fromhex(text.removeprefix("0x"))
    except ValueError:
        return printable(text)
    return checksummed(content) if len(content) == 20 else printable(text)
