"""Forms in which a block and its transactions are printed: wsnode's own, and anvil's, which tools parse.

Texts of other parties are made fit for a terminal.
"""

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Final, Protocol

import msgspec

from wsnode.ethereum.codec.addresses import checksummed
from wsnode.ethereum.codec.rows import Header
from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import hexadecimal
from wsnode.untrusted import decoding

SHOWN_CHARACTERS: Final = 300
"""Maximum characters of a text, such as a contract's reason of a failure."""
LAST_SECOND: Final = 253_402_300_799
"""End of the year 9999 in seconds since 1970; later dates have other forms."""


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


class Receipt(msgspec.Struct, rename="camel", frozen=True):
    """Members of a transaction's receipt that are printed, as JSON-RPC has them: quantities, hashes and
    addresses in hex. `to` is None for a creation, `contract_address` for any other transaction.
    """

    transaction_hash: str
    sender: str = msgspec.field(name="from")
    to: str | None
    contract_address: str | None
    gas_used: str
    status: str | None = None
    """Status of the transaction, None before Byzantium."""


class BlockForm(Protocol):
    """Form in which a block is printed on the terminal: lines before its transactions, for each of them, and
    after them. Implemented by `DefaultForm` and `AnvilForm`.
    """

    def begin(self, head: Head, header: Header, count: int) -> Iterator[str]:
        """Yield the lines before the block's `count` transactions."""
        ...

    def transaction(self, receipt: Receipt, failure: str | None) -> Iterator[str]:
        """Yield the lines of a transaction, with the reason if it has failed."""
        ...

    def end(self, head: Head, header: Header) -> Iterator[str]:
        """Yield the lines after the transactions."""
        ...


class DefaultForm:
    """Form of printing a block: the block first, then the fields of each transaction."""

    def begin(self, head: Head, header: Header, count: int) -> Iterator[str]:
        yield f"Block {head.number}  {hexadecimal(head.hash)}"
        made = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(min(header.timestamp, 1 << 40)))
        transactions = "1 transaction" if count == 1 else f"{count} transactions"
        yield f"  {made}, {transactions}, gas used {header.gas_used} of {header.gas_limit}"

    def transaction(self, receipt: Receipt, failure: str | None) -> Iterator[str]:
        yield f"Transaction {receipt.transaction_hash}"
        yield f"  from     {address(receipt.sender)}"
        if receipt.to is not None:
            yield f"  to       {address(receipt.to)}"
        if receipt.contract_address is not None:
            yield f"  created  {address(receipt.contract_address)}"
        yield f"  gas used {int(receipt.gas_used, 16)}"
        if failure is not None:
            yield f"  status   0, {failure}"
        elif receipt.status is not None:
            yield "  status   1"

    def end(self, _head: Head, _header: Header) -> Iterator[str]:
        yield from ()


class AnvilForm:
    """Form of printing a block as anvil 1.7.1 does: the transactions first, then the block, in the same
    words.
    """

    def begin(self, _head: Head, _header: Header, _count: int) -> Iterator[str]:
        """Yield an empty line, after the names of methods."""
        yield ""

    def transaction(self, receipt: Receipt, failure: str | None) -> Iterator[str]:
        yield f"    Transaction: {receipt.transaction_hash}"
        if receipt.contract_address is not None:
            yield f"    Contract created: {address(receipt.contract_address)}"
        yield f"    Gas used: {int(receipt.gas_used, 16)}"
        if failure is not None:
            yield f"    Error: reverted with: {failure.removeprefix('execution reverted: ')}"
        yield ""

    def end(self, head: Head, header: Header) -> Iterator[str]:
        yield f"    Block Number: {head.number}"
        yield f"    Block Hash: {hexadecimal(head.hash)}"
        yield f'    Block Time: "{_date(header.timestamp)}"'


def _date(timestamp: int) -> str:
    """Return a time in the form of RFC 2822, after the year 9999 in seconds since 1970."""
    return (
        str(timestamp) if timestamp > LAST_SECOND else format_datetime(datetime.fromtimestamp(timestamp, UTC))
    )
