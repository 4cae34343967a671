"""The log of a development chain on the terminal: blocks, transactions, failed calls, controls."""

import time
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Final

import msgspec

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.addresses import checksummed
from wsnode.ethereum.codec.rendering import stored_receipt
from wsnode.ethereum.codec.rows import Header, header_fields, transaction_hashes
from wsnode.ethereum.development.control import DevelopmentLog, Forking
from wsnode.ethereum.head import Head, HeadChange
from wsnode.ethereum.primitives.values import hexadecimal
from wsnode.ethereum.rpc.form.lookup import rows
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import CancelFlag, EngineError, trace_block
from wsnode.jsonrpc.errors import RpcError
from wsnode.jsonrpc.registry import Registry
from wsnode.server.upkeep.printing import Printer, Rate
from wsnode.upstream.address import shown

TRANSACTIONS_PER_SECOND: Final = 100
REASONS_PER_SECOND: Final = 10
"""Failed transactions whose reason is looked up: those before each in its block run again for it."""
REASON_SECONDS: Final = 0.25
REASON_BYTES: Final = 64 * 1024
SHOWN_CHARACTERS: Final = 300
"""Characters of a reason, which a contract chooses."""
KEPT_BYTES: Final = 64 * 1024
"""Bytes kept of the parameters of a failed call until they are printed."""
TRACE: Final = b'{"tracer":"callTracer","tracerConfig":{"onlyTopCall":true}}'

CONTROLS: Final = ("anvil_", "evm_", "hardhat_", "wsnode_reorg")
TOLD_FAILURES: Final = (
    *("eth_call", "eth_estimateGas", "eth_createAccessList", "eth_simulateV1", "eth_fillTransaction"),
    *("eth_sendTransaction", "eth_sendUnsignedTransaction", "eth_sendRawTransaction"),
    *("eth_sendTransactionSync", "eth_sendRawTransactionSync", *CONTROLS),
)
"""Beginnings of the names of methods whose failures are printed."""
READING: Final = ("get", "metadata", "nodeInfo", "dumpState", "setLoggingEnabled")
"""Beginnings, after the prefix, of the names of controls that do not change the chain."""
WITH_RESULT: Final = ("evm_snapshot", "anvil_snapshot")
"""Controls whose results are printed: they are parameters of `evm_revert`."""


class Receipt(msgspec.Struct, rename="camel", frozen=True):
    """The printed members of a receipt."""

    transaction_hash: str
    sender: str = msgspec.field(name="from")
    to: str | None
    contract_address: str | None
    gas_used: str
    status: str | None = None
    """None before Byzantium."""


class TopCall(msgspec.Struct, rename="camel", frozen=True):
    """The outcome of a transaction, in callTracer's form."""

    error: str | None = None
    revert_reason: str | None = None
    output: str = "0x"


class CallOf(msgspec.Struct, frozen=True):
    """The printed members of a call."""

    to: str | None = None
    data: str | None = None
    input: str | None = None


_read_receipt = msgspec.json.Decoder(Receipt).decode
_read_top_call = msgspec.json.Decoder(TopCall).decode
_read_parameters = msgspec.json.Decoder(list[msgspec.Raw]).decode
_read_call = msgspec.json.Decoder(CallOf).decode


class Narrator:
    """Passes events to a printer if the log is on; the printer's thread renders their texts."""

    def __init__(
        self, printer: Printer, chain: Chain, log: DevelopmentLog, *, tells_every_failure: bool
    ) -> None:
        self._printer = printer
        self._chain = chain
        self._log = log
        self._tells_every_failure = tells_every_failure
        self._has_ended = False
        self._transactions = Rate(TRANSACTIONS_PER_SECOND)
        self._reasons = Rate(REASONS_PER_SECOND)

    def watch(self, registry: Registry) -> None:
        """Print failed calls of these methods, and controls that changed something."""
        registry.on_failure = self.tell_failure
        for name in registry.methods:
            if name.startswith(CONTROLS) and not name.partition("_")[2].startswith(READING):
                registry.observe(name, self.tell_control)

    def end(self) -> None:
        """Wait a moment for the printer, and stop reading the chain: it is about to be closed."""
        self._printer.wait_written()
        self._has_ended = True

    def tell_change(self, change: HeadChange) -> None:
        """Print blocks that have left the chain and new ones."""
        if not self._log.enabled:
            return
        if change.removed:
            self._printer.say(partial(_removed, change.removed))
        for head in change.added:
            self._printer.say(partial(self._block, head))

    def tell_failure(self, method: str, params: bytes, error: RpcError) -> None:
        """Print a failed call, if its reason may be of interest."""
        if self._log.enabled and (self._tells_every_failure or method.startswith(TOLD_FAILURES)):
            kept = params if len(params) <= KEPT_BYTES else b""
            self._printer.say(partial(_failure, method, kept, error.message, error.data))

    def tell_control(self, method: str, arguments: Sequence[Any], result: Any) -> None:
        """Print a control that has changed something."""
        if self._log.enabled and result != b"false":
            self._printer.say(partial(_control, method, arguments, result))

    def _block(self, head: Head) -> str:
        if self._has_ended:
            return ""
        with self._chain.snapshot() as view:
            found = rows(view, head.number)
            if found is None or view.hash_of(head.number) != head.hash:
                return f"Block {head.number}  {hexadecimal(head.hash)}\n  replaced since\n\n"
            hashes = _each_hash(transaction_hashes(found[1]))
            lines = list(_block_lines(head, header_fields(found[0]), len(hashes)))
            for index, transaction in enumerate(hashes):
                if not self._transactions.take():
                    lines.append(f"… {len(hashes) - index} more transactions")
                    break
                lines += self._transaction(view, found, index, transaction)
        return "\n".join(lines) + "\n\n"

    def _transaction(
        self, view: Snapshot, found: tuple[bytes, bytes], index: int, transaction: bytes
    ) -> Iterator[str]:
        text = stored_receipt(view.reader, transaction)
        if text is None:
            return
        receipt = _read_receipt(text)
        yield f"Transaction {receipt.transaction_hash}"
        yield f"  from     {_address(receipt.sender)}"
        if receipt.to is not None:
            yield f"  to       {_address(receipt.to)}"
        if receipt.contract_address is not None:
            yield f"  created  {_address(receipt.contract_address)}"
        yield f"  gas used {int(receipt.gas_used, 16)}"
        if receipt.status == "0x0":
            yield f"  status   0, {self._reason(view, found, index)}"
        elif receipt.status is not None:
            yield "  status   1"

    def _reason(self, view: Snapshot, found: tuple[bytes, bytes], index: int) -> str:
        if not self._reasons.take():
            return "failed"
        try:
            trace = trace_block(
                view.state,
                found,
                TRACE,
                index=index,
                seconds=REASON_SECONDS,
                size=REASON_BYTES,
                cancel=CancelFlag(),
            )
        except EngineError:
            # The block has left the chain meanwhile.
            return "failed"
        if isinstance(trace, str):
            return "failed"
        top = _read_top_call(trace)
        return _why(top.error or "failed", top.revert_reason, top.output)


def _why(error: str, reason: str | None, output: object) -> str:
    """Return a failure in one line: with its reason if any, otherwise with the output."""
    if reason is not None:
        return f"{error}: {printable(reason)}"
    if isinstance(output, str) and len(output) > len("0x"):
        return f"{error} with {printable(output)}"
    return printable(error)


def _block_lines(head: Head, header: Header, count: int) -> Iterator[str]:
    yield f"Block {head.number}  {hexadecimal(head.hash)}"
    made = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(min(header.timestamp, 1 << 40)))
    transactions = "1 transaction" if count == 1 else f"{count} transactions"
    yield f"  {made}, {transactions}, gas used {header.gas_used} of {header.gas_limit}"


def _removed(removed: Sequence[Head]) -> str:
    ancestor = removed[-1].number - 1
    many = "1 block" if len(removed) == 1 else f"{len(removed)} blocks"
    return f"{many} taken back: the head is block {ancestor} again\n\n"


def _failure(method: str, params: bytes, message: str, data: object) -> str:
    lines = [f"{method} failed: {printable(message)}"]
    if isinstance(data, str) and len(data) > len("0x") and ": " not in message:
        lines.append(f"  data     {printable(data)}")
    call = _call_of(params)
    if call.to is not None:
        lines.append(f"  to       {_address(call.to)}")
    if (sent := call.input or call.data) is not None and len(sent) >= 10:
        lines.append(f"  function {printable(sent[:10])}")
    return "\n".join(lines) + "\n\n"


def _call_of(params: bytes) -> CallOf:
    """Return the call that parameters begin with, an empty one if they do not."""
    try:
        return next(map(_read_call, _read_parameters(params)), CallOf())
    except (msgspec.DecodeError, UnicodeDecodeError):
        return CallOf()


def _control(method: str, arguments: Sequence[Any], result: Any) -> str:
    says = f" -> {printable(result.decode())}" if method in WITH_RESULT else ""
    return f"{method} {_values(arguments)}".rstrip() + f"{says}\n\n"


def _value(value: Any) -> str:
    """Return a parameter as a person writes it, shortened."""
    if value is None:
        return ""
    if isinstance(value, Forking):
        return _values([None if value.url is None else shown(value.url), value.block])
    if isinstance(value, msgspec.Struct):
        return _values(msgspec.structs.astuple(value))
    if (slots := getattr(type(value), "__slots__", None)) and not isinstance(value, str | bytes | int):
        return _values([getattr(value, name, None) for name in slots])
    if isinstance(value, bytes):
        text = checksummed(value) if len(value) == 20 else hexadecimal(value)
    elif isinstance(value, list | tuple):
        text = f"[{_values(value[:8])}]"
    elif isinstance(value, bool):
        text = "true" if value else "false"
    else:
        text = str(value)
    return printable(text if len(text) <= 66 else f"{text[:63]}…")


def _values(values: Iterable[Any]) -> str:
    return " ".join(filter(None, map(_value, values)))


def _address(text: str) -> str:
    """Return an address with its checksum, anything else as it is."""
    try:
        address = bytes.fromhex(text.removeprefix("0x"))
    except ValueError:
        return printable(text)
    return checksummed(address) if len(address) == 20 else printable(text)


def _each_hash(hashes: bytes) -> list[bytes]:
    return [hashes[start : start + 32] for start in range(0, len(hashes), 32)]


def printable(text: str) -> str:
    """Return a text without what would steer a terminal, and not too long."""
    shown = "".join(
        letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text[:SHOWN_CHARACTERS]
    )
    return shown if len(text) <= SHOWN_CHARACTERS else f"{shown}…"
