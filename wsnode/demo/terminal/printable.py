"""Text that others chose, made fit for a terminal."""

from typing import Final

from wsnode.ethereum.codec.addresses import checksummed
from wsnode.untrusted import decoding

SHOWN_CHARACTERS: Final = 300
"""Characters of a reason, which a contract chooses."""


def printable(text: str, most: int = SHOWN_CHARACTERS) -> str:
    """Return a text without what would steer a terminal, and with that many characters at the most."""
    shown = decoding.printable(text[:most])
    return shown if len(text) <= most else f"{shown}…"


def address(text: str) -> str:
    """Return an address with its checksum, anything else as it is."""
    try:
        content = bytes.fromhex(text.removeprefix("0x"))
    except ValueError:
        return printable(text)
    return checksummed(content) if len(content) == 20 else printable(text)
