"""eth_sendRawTransactionSync: sends a transaction and waits for its receipt (EIP-7966)."""

import time
from collections.abc import Generator
from contextlib import suppress
from typing import Any, Final

import msgspec

from wsnode.ethereum.codec.rendering import stored_receipt
from wsnode.ethereum.codes import NOT_PROCESSED
from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.primitives.values import Hash32, hexadecimal
from wsnode.ethereum.rpc.common.decoding import kind, mismatch
from wsnode.ethereum.rpc.common.parameters import Data
from wsnode.ethereum.rpc.transactions.sending import SENDING_ERRORS, TransactionSender
from wsnode.ethereum.snapshot import CallerContext
from wsnode.jsonrpc.codec import register_type
from wsnode.jsonrpc.errors import RpcError, TimeLimitError, limit_exceeded
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.resource_quota import ResourceQuota
from wsnode.jsonrpc.schema import COUNT, reference
from wsnode.jsonrpc.work import Await, JsonText, Step, Steps

# geth's eth/ethconfig, TxSyncDefaultTimeout and TxSyncMaxTimeout.
USUAL_SECONDS: Final = 20.0
MAX_SECONDS: Final = 60.0
MAX_WAITING: Final = 1000
"""Calls that wait at one time, fewer than the slow calls in flight."""

WAITING_ERRORS: Final = (
    RpcError(NOT_PROCESSED, "The transaction was added to the transaction pool but wasn't …"),
    limit_exceeded("too many transactions are waited for"),
)


class Milliseconds(int):
    """A number of milliseconds below 2**64, as a JSON number."""


class SyncParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[signed transaction, milliseconds]`: bytes as hex, and the time to wait for the receipt."""

    encoded: Data
    timeout: Milliseconds | None = None


class InclusionWaiter:
    """Handler of eth_sendRawTransactionSync, which waits for the blocks of sent transactions."""

    def __init__(self, sending: TransactionSender, hub: Hub) -> None:
        self._sending = sending
        self._hub = hub
        self._waiting = ResourceQuota(MAX_WAITING)

    def send(self, caller: CallerContext, params: SyncParameters) -> Steps:
        """Return the receipt of the sent transaction, once a block includes it."""
        return (yield from self.included(caller, self._sending.sent(params.encoded), params.timeout))

    def included(
        self, caller: CallerContext, sending: Generator[Step, Any, Hash32], timeout: Milliseconds | None
    ) -> Generator[Step, Any, JsonText]:
        """Return the receipt of the transaction that `sending` sends, once a block includes it.

        Raises:
            RpcError: It is refused, no block includes it in time, or too many calls wait already.
        """
        seconds = min(timeout / 1000, MAX_SECONDS) if timeout else USUAL_SECONDS
        self._waiting.take_or_refuse(caller.client, "too many transactions are waited for")
        try:
            sent = yield from sending
            return (yield from self._receipt(sent, seconds))
        finally:
            self._waiting.give_back(caller.client)

    def _receipt(self, sent: Hash32, seconds: float) -> Generator[Step, Any, JsonText]:
        end = time.monotonic() + seconds
        while True:
            # The head is read before the store: a block that arrives later moves the head, and so ends the
            # wait.
            head = self._hub.head
            with self._hub.snapshot() as view:
                receipt = stored_receipt(view.reader, sent)
            if receipt is not None:
                return receipt
            left = end - time.monotonic()
            if left <= 0:
                raise _not_processed(sent, seconds)
            moved = Await(lambda head=head: self._hub.wait_move(head))  # type: ignore[misc]
            moved.seconds = left
            with suppress(TimeLimitError):
                yield moved


def _not_processed(sent: Hash32, seconds: float) -> RpcError:
    waited = f"{seconds:g}s" if seconds >= 1 else f"{seconds * 1000:g}ms"
    words = f"The transaction was added to the transaction pool but wasn't processed in {waited}"
    return RpcError(NOT_PROCESSED, words, hexadecimal(sent))


def _decode_milliseconds(value: Any) -> Milliseconds:
    if type(value) is not int or not 0 <= value < 1 << 64:
        found = f"number {value}" if type(value) in {int, float} else kind(value)
        raise mismatch(found, "uint64")
    return Milliseconds(value)


register_type(Milliseconds, _decode_milliseconds, COUNT)


def add_methods(registry: Registry, inclusion: InclusionWaiter) -> None:
    """Register this module's method."""
    method = registry.method(
        "eth_sendRawTransactionSync",
        caller=True,
        result=reference("Receipt"),
        errors=(*SENDING_ERRORS, *WAITING_ERRORS),
    )
    method(inclusion.send)
