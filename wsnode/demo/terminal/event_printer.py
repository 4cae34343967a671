"""Log of a development chain on the terminal: blocks, transactions, failed calls, controls."""

import threading
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Final

import msgspec

from wsnode.demo.terminal.blocks import BlockForm, DefaultForm, Receipt, address, printable
from wsnode.demo.terminal.call_tree import read_call, tree_lines
from wsnode.demo.terminal.console_log import line_of
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.addresses import checksummed
from wsnode.ethereum.codec.rendering import stored_receipt
from wsnode.ethereum.codec.rows import header_fields, transaction_hashes
from wsnode.ethereum.development.control import DevelopmentLog, ForkRequest
from wsnode.ethereum.head import Head, HeadChange
from wsnode.ethereum.primitives.values import hexadecimal
from wsnode.ethereum.rpc.common.lookup import rows
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import CancelFlag, EngineError, console_messages, trace_block
from wsnode.jsonrpc.errors import RpcError
from wsnode.jsonrpc.registry import Registry
from wsnode.server.observability.printing import LineRate, Printer
from wsnode.upstream.address import shown

TRANSACTIONS_PER_SECOND: Final = 100
REASONS_PER_SECOND: Final = 10
"""Maximum number of failed transactions a second with a reason.

All earlier transactions of the block run again for a reason.
"""
REASON_SECONDS: Final = 0.25
REASON_BYTES: Final = 64 * 1024
TRACE_SECONDS: Final = 1.0
TRACE_BYTES: Final = 1024 * 1024
NAMES_PER_SECOND: Final = 100
CONSOLE_CHARACTERS: Final = 4096
"""Maximum characters of a message to the console."""
PLAIN_GAS: Final = 21_000
"""Gas of a transaction that runs no code."""
KEPT_BYTES: Final = 64 * 1024
"""Maximum bytes of the parameters of a failed call that are kept until they are printed."""
TRACE: Final = b'{"tracer":"callTracer","tracerConfig":{"onlyTopCall":true}}'
TREE: Final = b'{"tracer":"callTracer","tracerConfig":{"withLog":true}}'

CONTROLS: Final = ("anvil_", "evm_", "hardhat_", "wsnode_reorg")
PRINTED_FAILURES: Final = (
    *("eth_call", "eth_estimateGas", "eth_createAccessList", "eth_simulateV1", "eth_fillTransaction"),
    *("eth_sendTransaction", "eth_sendUnsignedTransaction", "eth_sendRawTransaction"),
    *("eth_sendTransactionSync", "eth_sendRawTransactionSync", *CONTROLS),
)
"""Beginnings of the names of methods whose failures are printed."""
READING: Final = ("get", "metadata", "nodeInfo", "dumpState", "setLoggingEnabled")
"""Beginnings, after the prefix, of the names of controls that do not change the chain."""
WITH_RESULT: Final = ("evm_snapshot", "anvil_snapshot")
"""Controls whose results are printed, since they are parameters of `evm_revert`."""
SAYING: Final = ("eth_call", "eth_estimateGas")
"""Methods whose calls print messages of contracts; estimates only if they fail."""


class TopCall(msgspec.Struct, rename="camel", frozen=True):
    """Outcome of a transaction, from callTracer's outermost call; `error` is None if it succeeded,
    `revert_reason` None without a reason, `output` is hex.
    """

    error: str | None = None
    revert_reason: str | None = None
    output: str = "0x"


class TransactionCall(msgspec.Struct, frozen=True):
    """Members of eth_call's call object that are printed, in hex; None if the client did not send them."""

    to: str | None = None
    data: str | None = None
    input: str | None = None


_read_receipt = msgspec.json.Decoder(Receipt).decode
_read_top_call = msgspec.json.Decoder(TopCall).decode
_read_parameters = msgspec.json.Decoder(list[msgspec.Raw]).decode
_read_call = msgspec.json.Decoder(TransactionCall).decode


class EventPrinterSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Selection of the events that a development chain prints on the terminal, and the form of its blocks."""

    transactions: bool = True
    """True to print the transactions of each block; without them a block is one line."""
    every_failure: bool = False
    """True to print failed calls of every method."""
    methods: bool = False
    """True to print the name of each called method."""
    controls: bool = True
    """True to print controls that have changed something, with their parameters."""
    console: bool = True
    """True to print messages of contracts to the console."""
    traces: bool = False
    """True to print the calls that each transaction makes."""
    form: BlockForm = DefaultForm()
    """Form of blocks with their transactions."""


Said = Sequence[tuple[Sequence[bytes], int]]
"""Messages to the console of each transaction, and the number of omitted ones."""


class EventPrinter:
    """Printer of a development chain's events on the terminal, while `DevelopmentLog` is enabled; a thread
    renders the texts.
    """

    def __init__(
        self, printer: Printer, chain: Chain, log: DevelopmentLog, telling: EventPrinterSettings
    ) -> None:
        self._printer = printer
        self._chain = chain
        self._log = log
        self._telling = telling
        self._reading = threading.Lock()
        self._has_ended = False
        self._cancel = CancelFlag()
        self._names = LineRate(NAMES_PER_SECOND)
        self._transactions = LineRate(TRANSACTIONS_PER_SECOND)
        self._reasons = LineRate(REASONS_PER_SECOND)

    def watch(self, registry: Registry) -> None:
        """Print failed calls of these methods, and controls that changed something."""
        registry.on_failure = self.tell_failure
        controls = registry.methods if self._telling.controls else ()
        for name in controls:
            if name.startswith(CONTROLS) and not name.partition("_")[2].startswith(READING):
                registry.observe(name, self.tell_control)
        if self._telling.console:
            self._chain.state.begin_console()
            registry.observe("eth_call", self.tell_said)
        if self._telling.methods:
            registry.announce(self.tell_call)

    def end(self) -> None:
        """Wait shortly for the printer, and stop reading the chain, which is about to be closed."""
        self._printer.wait_written()
        self._has_ended = True
        self._cancel.set()
        with self._reading:
            return

    def tell_call(self, method: str) -> None:
        if self._log.enabled:
            self._printer.say(lambda: f"{method}\n", self._names)

    def tell_said(self, _method: str, _arguments: Sequence[Any], _result: Any) -> None:
        """Print messages of a call to the console."""
        said = self._chain.state.take_console()
        if self._log.enabled and any(said):
            self._printer.say(lambda: "".join(f"{line}\n" for line in console_lines(*said)))

    def tell_change(self, change: HeadChange) -> None:
        """Print blocks that have left the chain, and new ones."""
        if self._telling.console:
            # After a reset to another block the fork has a new state object, which does not keep console
            # messages yet.
            self._chain.state.begin_console()
        if not self._log.enabled:
            return
        if change.removed:
            self._printer.say(partial(_removed, change.removed))
        for head in change.added:
            self._printer.say(partial(self._block, head))

    def tell_failure(self, method: str, params: bytes, error: RpcError) -> None:
        """Print a failed call, if failures of its method are printed."""
        if self._telling.console and method in SAYING:
            self.tell_said(method, (), None)
        if self._log.enabled and (self._telling.every_failure or method.startswith(PRINTED_FAILURES)):
            kept = params if len(params) <= KEPT_BYTES else b""
            self._printer.say(partial(_failure, method, kept, error.message, error.data))

    def tell_control(self, method: str, arguments: Sequence[Any], result: Any) -> None:
        """Print a control that has changed something."""
        if self._log.enabled and result != b"false":
            self._printer.say(partial(_control, method, arguments, result))

    def _block(self, head: Head) -> str:
        with self._reading:
            return "" if self._has_ended else self._block_text(head)

    def _block_text(self, head: Head) -> str:
        with self._chain.snapshot() as view:
            found = rows(view, head.number)
            if not self._telling.transactions:
                return "" if found is None else _brief(head, *found)
            if found is None or view.hash_of(head.number) != head.hash:
                return f"Block {head.number}  {hexadecimal(head.hash)}\n  replaced since\n\n"
            hashes, header = _each_hash(transaction_hashes(found[1])), header_fields(found[0])
            form = self._telling.form
            lines = list(form.begin(head, header, len(hashes)))
            # Plain transfers have no console messages, so a block of them is not executed again.
            said = [] if header.gas_used == PLAIN_GAS * len(hashes) else self._said(view, found)
            for index, transaction in enumerate(hashes):
                if not self._transactions.take():
                    lines.append(f"… {len(hashes) - index} more transactions")
                    break
                if index < len(said):
                    lines += console_lines(*said[index])
                if self._telling.traces:
                    lines += self._tree(view, found, index)
                lines += self._transaction(view, found, index, transaction)
            lines += form.end(head, header)
        return "\n".join(lines) + "\n\n"

    def _transaction(
        self, view: Snapshot, found: tuple[bytes, bytes], index: int, transaction: bytes
    ) -> Iterator[str]:
        text = stored_receipt(view.reader, transaction)
        if text is None:
            return
        receipt = _read_receipt(text)
        failure = self._reason(view, found, index) if receipt.status == "0x0" else None
        yield from self._telling.form.transaction(receipt, failure)

    def _said(self, view: Snapshot, found: tuple[bytes, bytes]) -> Said:
        if not self._telling.console:
            return []
        try:
            return console_messages(view.state, found, cancel=self._cancel) or []
        except EngineError:
            # The block has left the chain meanwhile.
            return []

    def _tree(self, view: Snapshot, found: tuple[bytes, bytes], index: int) -> Iterator[str]:
        try:
            trace = trace_block(
                view.state,
                found,
                TREE,
                index=index,
                seconds=TRACE_SECONDS,
                size=TRACE_BYTES,
                cancel=self._cancel,
            )
        except EngineError:
            return
        if isinstance(trace, str):
            reason = {"large": "it is too large", "late": "it takes too long"}.get(trace, trace)
            yield f"Traces\n  left out: {reason}"
            return
        try:
            yield from tree_lines(read_call(trace))
        except RecursionError:
            yield "Traces\n  left out: the calls are too deep"

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


def console_lines(messages: Sequence[bytes], left_out: int) -> Iterator[str]:
    """Yield the lines of messages to the console, without messages of unknown functions."""
    for message in messages:
        text = line_of(message)
        if text is not None:
            yield from (printable(line, CONSOLE_CHARACTERS) for line in text.split("\n"))
    if left_out:
        yield f"… {left_out} more messages of contracts left out"


def _why(error: str, reason: str | None, output: object) -> str:
    """Return a failure in one line: with its reason if there is one, else with its output."""
    if reason is not None:
        return f"{error}: {printable(reason)}"
    if isinstance(output, str) and len(output) > len("0x"):
        return f"{error} with {printable(output)}"
    return printable(error)


def _brief(head: Head, header: bytes, body: bytes) -> str:
    count = len(_each_hash(transaction_hashes(body)))
    transactions = "1 transaction" if count == 1 else f"{count} transactions"
    short = hexadecimal(head.hash)[:10]
    return f"Block {head.number}  {short}…  {transactions}, gas used {header_fields(header).gas_used}\n"


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
        lines.append(f"  to       {address(call.to)}")
    if (sent := call.input or call.data) is not None and len(sent) >= 10:
        lines.append(f"  function {printable(sent[:10])}")
    return "\n".join(lines) + "\n\n"


def _call_of(params: bytes) -> TransactionCall:
    """Return the call at the beginning of parameters, an empty call if there is none."""
    try:
        return next(map(_read_call, _read_parameters(params)), TransactionCall())
    except (msgspec.DecodeError, UnicodeDecodeError):
        return TransactionCall()


def _control(method: str, arguments: Sequence[Any], result: Any) -> str:
    says = f" -> {printable(result.decode())}" if method in WITH_RESULT else ""
    return f"{method} {_values(arguments)}".rstrip() + f"{says}\n\n"


def _value(value: Any) -> str:
    """Return a parameter as text for a person, shortened."""
    if value is None:
        return ""
    if isinstance(value, ForkRequest):
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


def _each_hash(hashes: bytes) -> list[bytes]:
    return [hashes[start : start + 32] for start in range(0, len(hashes), 32)]
