"""Calls and transfers inside a transaction, in Otterscan's form."""

from typing import Any, Final

import msgspec

from wsnode.ethereum.codec.rendering import stored_receipt
from wsnode.ethereum.rpc.common.results import data
from wsnode.ethereum.rpc.debug_traces.methods import Tracing
from wsnode.ethereum.rpc.otterscan.parameters import HashParameters
from wsnode.ethereum.rpc.parity_traces.blocks import BlockTraceMethods
from wsnode.ethereum.snapshot import Snapshot
from wsnode.jsonrpc.errors import server_error

NO_OUTPUT: Final = data(b"")
_SUCCESS: Final = "0x1"


class OtterscanOutcome(msgspec.Struct):
    """The status of a receipt; None before Byzantium."""

    status: str | None = None


class OtterscanCall(msgspec.Struct):
    """The error of a call, None if it succeeded."""

    error: str | None = None


class OtterscanResult(msgspec.Struct):
    """The output of a transaction, and its calls, the outermost first."""

    output: msgspec.Raw
    trace: list[OtterscanCall]


class InternalTransactionMethods:
    """The methods, built on the trace_ methods."""

    def __init__(self, traces: BlockTraceMethods) -> None:
        self._traces = traces

    def get_internal_operations(self, view: Snapshot, params: HashParameters) -> Tracing:
        """Return the list of a transaction's internal transfers of ether, creations and destructions."""
        return (yield from self._of(view, params, {"form": "operations"}))

    def trace_transaction(self, view: Snapshot, params: HashParameters) -> Tracing:
        """Return the list of a transaction's calls, creations and destructions, each with its depth."""
        return (yield from self._of(view, params, {"form": "entries"}))

    def get_transaction_error(self, view: Snapshot, params: HashParameters) -> Tracing:
        """Return the output of a reverted transaction, `0x` if it did not revert."""
        receipt = stored_receipt(view.reader, params.hash)
        if receipt is not None and msgspec.json.decode(receipt, type=OtterscanOutcome).status == _SUCCESS:
            return NO_OUTPUT
        found = yield from self._of(view, params, {"form": "results", "types": ["trace"]})
        result = msgspec.json.decode(found, type=OtterscanResult)
        has_reverted = result.trace[0].error == "Reverted"
        return bytes(result.output) if has_reverted else NO_OUTPUT

    def _of(self, view: Snapshot, params: HashParameters, form: dict[str, Any]) -> Tracing:
        found = yield from self._traces.of_transaction(view, params.hash, form)
        if not found:
            raise server_error("transaction not found")
        return found
