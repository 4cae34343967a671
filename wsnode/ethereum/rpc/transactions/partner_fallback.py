"""eth_getTransactionByHash in an outage: a partner's node is asked for transactions missing here."""

import time
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeAlias

from wsnode.ethereum.primitives.values import hexadecimal
from wsnode.ethereum.rpc.common.results import NULL
from wsnode.ethereum.rpc.transactions.partner_transaction import PartnerAnswerError, checked_transaction
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import ChainSpec
from wsnode.jsonrpc.context import CallContext
from wsnode.jsonrpc.errors import RESOURCE_UNAVAILABLE, RpcError
from wsnode.jsonrpc.method import HandlerKind, Middleware
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.work import Await, Steps
from wsnode.store.environment import StoreError
from wsnode.upstream.errors import UpstreamError

METHOD: Final = "eth_getTransactionByHash"
PARTNER_FAILED: Final = RpcError(RESOURCE_UNAVAILABLE, "the partner provider failed: …")

AskPartner: TypeAlias = Callable[[str, list[Any]], Awaitable[Any]]
"""Calls a method of the partner and returns its result; raises UpstreamError."""
IsAllowed: TypeAlias = Callable[[Any], bool]
"""Function that returns True if a caller's key permits forwarding."""


class StaleHeadDetector:
    """Detector of an outage of this node's source of blocks: its head is older than `stale_after` seconds, or
    an operator has declared an outage.
    """

    def __init__(
        self, stale_after: float, is_declared: Callable[[], bool], clock: Callable[[], float] = time.time
    ) -> None:
        self._stale_after = stale_after
        self._is_declared = is_declared
        self._clock = clock

    def is_on(self, view: Snapshot) -> bool:
        return self._is_declared() or view.head_timestamp < self._clock() - self._stale_after


class PartnerFallback(Middleware):
    """Middleware of eth_getTransactionByHash that requests a transaction unknown to this node from a partner,
    another provider's node, during an outage.
    """

    __slots__ = ("_ask", "_ends", "_is_allowed", "_outage", "_spec")

    def __init__(
        self,
        inner: HandlerKind,
        ends: dict[str, int],
        spec: ChainSpec,
        ask: AskPartner,
        outage: StaleHeadDetector,
        is_allowed: IsAllowed,
    ) -> None:
        """Make the middleware; `ends` counts the partner's answers by outcome."""
        super().__init__(inner)
        self._ends = ends
        self._spec = spec
        self._ask = ask
        self._outage = outage
        self._is_allowed = is_allowed

    def calling(self, function: Callable[..., Any]) -> HandlerKind:
        inner = self._inner.calling(function)
        return PartnerFallback(inner, self._ends, self._spec, self._ask, self._outage, self._is_allowed)

    def answer(self, turn: CallContext, params: bytes) -> Any:
        """Return the handler's result; in an outage, steps that ask the partner if the handler found none."""
        try:
            result = self._inner.answer(turn, params)
            if result != NULL or not self._is_allowed(turn.caller) or not self._outage.is_on(turn.view):
                return result
        except StoreError:
            # If the store fails, the turn may not even have a view, so the outage is not checked.
            if not self._is_allowed(turn.caller):
                raise
        return self._forward(self.parameters.read(params).hash)

    def _forward(self, wanted: bytes) -> Steps:
        try:
            answer = yield Await(lambda: self._ask(METHOD, [hexadecimal(wanted)]))
            found = NULL if answer is None else checked_transaction(self._spec, wanted, answer)
        except (UpstreamError, PartnerAnswerError) as error:
            self._ends["failed"] += 1
            reason = error.reason if isinstance(error, UpstreamError) else "invalid"
            raise partner_failed(reason) from error
        self._ends["unknown" if answer is None else "found"] += 1
        return found


def partner_failed(reason: str) -> RpcError:
    """Return the error for a transaction that is not stored here, if the partner provider failed to answer.

    `reason` says how it failed.
    """
    return RpcError(
        RESOURCE_UNAVAILABLE, f"the partner provider failed: {reason}", {"reason": reason, "forwarded": True}
    )


def add_forwarding(
    registry: Registry, spec: ChainSpec, ask: AskPartner, outage: StaleHeadDetector, is_allowed: IsAllowed
) -> None:
    """Make the method ask a partner, during an outage, for a transaction that is not found here."""
    method = registry.methods[METHOD]
    kind = PartnerFallback(method.kind, registry.forwarded, spec, ask, outage, is_allowed)
    registry.methods[METHOD] = method.of_kind(kind).handled_alone()
