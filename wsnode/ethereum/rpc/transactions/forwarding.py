"""eth_getTransactionByHash in an outage: a partner provider is asked for what this node lacks."""

import time
from collections.abc import Awaitable, Callable
from typing import Any, Final, Protocol, TypeAlias

from wsnode.ethereum.primitives.values import hexadecimal
from wsnode.ethereum.rpc.blocks.methods import HashParameters
from wsnode.ethereum.rpc.form.results import NULL
from wsnode.ethereum.rpc.form.schemas import TRANSACTION
from wsnode.ethereum.rpc.form.text_parameters import TextParameters
from wsnode.ethereum.rpc.transactions.partner_answer import AnswerError, checked_transaction
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import ChainSpec
from wsnode.jsonrpc.errors import RESOURCE_UNAVAILABLE, RpcError
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.schema import or_null
from wsnode.jsonrpc.work import AsyncCall, Steps
from wsnode.store.errors import StoreError
from wsnode.upstream.errors import UpstreamError

METHOD: Final = "eth_getTransactionByHash"
PARAMETERS: Final = TextParameters(HashParameters)
PARTNER_FAILED: Final = RpcError(RESOURCE_UNAVAILABLE, "the partner provider failed: …")

AskPartner: TypeAlias = Callable[[str, list[Any]], Awaitable[Any]]
"""Calls a method of the partner and returns its result; raises UpstreamError."""
IsAllowed: TypeAlias = Callable[[Any], bool]
"""Returns whether a caller's key permits forwarding."""


class Outage(Protocol):
    """Decides when this node may lack transactions that a partner has."""

    def is_on(self, view: Snapshot) -> bool:
        """Return whether there is an outage now."""


class StaleHead:
    """An outage while the head is old, or while an operator has declared one."""

    def __init__(
        self, stale_after: float, is_declared: Callable[[], bool], clock: Callable[[], float] = time.time
    ) -> None:
        self._stale_after = stale_after
        self._is_declared = is_declared
        self._clock = clock

    def is_on(self, view: Snapshot) -> bool:
        """Return whether there is an outage now."""
        return self._is_declared() or view.head_timestamp < self._clock() - self._stale_after


class FailedSnapshot:
    """Takes the place of a view that the store failed to open; reading from it raises the store's error."""

    moment = head = None

    def __init__(self, error: StoreError, caller: Any) -> None:
        self.error = error
        self.caller = caller

    def __getattr__(self, name: str) -> Any:
        raise self.error

    def __enter__(self) -> "FailedSnapshot":
        return self

    def __exit__(self, *details: object) -> None: ...


def surviving(open_view: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return `open_view`, changed so that a failing store raises at the first read."""

    def open_or_fail(caller: Any) -> Any:
        try:
            return open_view(caller)
        except StoreError as error:
            return FailedSnapshot(error, caller)

    return open_or_fail


class Forwarding:
    """The method that asks a partner."""

    def __init__(
        self, registry: Registry, spec: ChainSpec, ask: AskPartner, outage: Outage, is_allowed: IsAllowed
    ) -> None:
        self._ends = registry.forwarded
        self._get_transaction = registry.methods[METHOD].function
        self._spec = spec
        self._ask = ask
        self._outage = outage
        self._is_allowed = is_allowed

    def get_transaction_by_hash(self, view: Snapshot, params: bytes) -> Steps:
        """Return a transaction, or null if unknown; in an outage, a partner provider is asked for unknown
        ones.
        """
        allowed = self._is_allowed(view.caller)
        try:
            found = self._get_transaction(view, params)
            if found != NULL or not allowed or not self._outage.is_on(view):
                return found
        except StoreError:
            if not allowed:
                raise
        return (yield from self._forward(PARAMETERS.read(params).hash))

    def _forward(self, wanted: bytes) -> Steps:
        try:
            answer = yield AsyncCall(lambda: self._ask(METHOD, [hexadecimal(wanted)]))
            found = NULL if answer is None else checked_transaction(self._spec, wanted, answer)
        except (UpstreamError, AnswerError) as error:
            self._ends["failed"] += 1
            reason = error.reason if isinstance(error, UpstreamError) else "invalid"
            raise partner_failed(reason) from error
        self._ends["unknown" if answer is None else "found"] += 1
        return found


def partner_failed(reason: str) -> RpcError:
    """Return the error for a transaction that is not stored here when the partner fails too."""
    return RpcError(
        RESOURCE_UNAVAILABLE, f"the partner provider failed: {reason}", {"reason": reason, "forwarded": True}
    )


def add_forwarding(
    registry: Registry, spec: ChainSpec, ask: AskPartner, outage: Outage, is_allowed: IsAllowed
) -> None:
    """Register the method that asks a partner in place of the one without."""
    forwarding = Forwarding(registry, spec, ask, outage, is_allowed)
    method = registry.method(
        METHOD, replacing=True, decoder=PARAMETERS, result=or_null(TRANSACTION), errors=(PARTNER_FAILED,)
    )
    method(forwarding.get_transaction_by_hash)
