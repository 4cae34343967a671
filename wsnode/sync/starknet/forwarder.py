"""Forwarder of calls to the upstreams of a followed Starknet chain."""

from collections import Counter
from collections.abc import Callable
from typing import Any, Final

import msgspec
import trio

from wsnode.jsonrpc.errors import METHOD_NOT_FOUND, RpcError, limit_exceeded, response_too_large
from wsnode.starknet.followed import FORWARDED_SECONDS, MAX_FORWARDED, MAX_FORWARDED_BYTES
from wsnode.starknet.rpc.errors import BLOCK_NOT_FOUND, no_upstream, unanswered
from wsnode.starknet.snapshot import SPEC_VERSIONS
from wsnode.sync.follow.upstream import Upstream, Upstreams
from wsnode.upstream.errors import UpstreamError, UpstreamRefusedError

UPSTREAM_SECONDS: Final = 20.0
"""Seconds for an answer of one upstream; then the next one is asked."""
HTTP_STATUSES: Final = range(400, 600)
"""Codes of refusals that are statuses of HTTP, not errors of JSON-RPC."""


class ForwardedError(RpcError):
    """Error that an upstream sent for a forwarded call, passed on to the client with its whole message."""

    def __init__(self, error: UpstreamRefusedError) -> None:
        data = msgspec.Raw(error.data) if error.data else msgspec.UNSET
        super().__init__(error.code, error.message, data)
        self.message = error.whole_message


class StarknetForwarder:
    """Sender of calls to the upstreams that are followed, the best one first; implements `Forwarder`."""

    def __init__(self, upstreams: Upstreams, head: Callable[[], int]) -> None:
        """Forward to `upstreams`; `head` returns the number of our head, at which upstreams are preferred."""
        self._upstreams = upstreams
        self._head = head
        self._running = 0
        self.outcomes = Counter[tuple[str, str]]()
        """Number of forwarded calls by method and outcome: answered, refused, or failed."""

    async def forward(self, method: str, params: dict[str, Any], *, rpc_version: str) -> bytes:
        """Return the JSON text of the result of a method, unchanged.

        A refusal is final, unless it says that the upstream lacks the block, the method or the capacity: then
        the next upstream is asked.

        Raises:
            RpcError: The upstream's error, unchanged; or no upstream answers within `FORWARDED_SECONDS`, the
                reply is too large, or `MAX_FORWARDED` calls are forwarded already.
        """
        if self._running >= MAX_FORWARDED:
            raise limit_exceeded("too many calls are forwarded", {"limit": MAX_FORWARDED})
        self._running += 1
        outcome = "failed"
        try:
            text = await self._first_answer(method, params, rpc_version)
            outcome = "answered"
        except ForwardedError:
            outcome = "refused"
            raise
        finally:
            self._running -= 1
            self.outcomes[method, outcome] += 1
        return text

    async def _first_answer(self, method: str, params: dict[str, Any], rpc_version: str) -> bytes:
        if not self._upstreams.all:
            raise no_upstream()
        tried, failure = 0, UpstreamError("unreachable", "no upstream is followed now")
        with trio.move_on_after(FORWARDED_SECONDS) as scope:
            for upstream in self._ordered(rpc_version):
                tried += 1
                try:
                    return _bounded(
                        await upstream.client.ask_text(f"starknet_{method}", params, seconds=UPSTREAM_SECONDS)
                    )
                except UpstreamRefusedError as error:
                    if not _may_be_answered_elsewhere(error):
                        raise _refused(error) from None
                    failure = error
                except UpstreamError as error:
                    failure = error
        if isinstance(failure, UpstreamRefusedError) and failure.code == BLOCK_NOT_FOUND:
            raise _refused(failure)
        raise unanswered("timeout" if scope.cancelled_caught else str(failure), tried)

    def _ordered(self, rpc_version: str) -> list[Upstream]:
        """Return the followed upstreams: those of the version and at our head first, then the best."""
        wanted = tuple(map(int, SPEC_VERSIONS[rpc_version].split(".")[:2]))

        def rank(upstream: Upstream) -> tuple[bool, bool]:
            is_behind = upstream.head is None or upstream.head.number < self._head()
            return upstream.interface_version[:2] != wanted, is_behind

        return sorted(self._upstreams.usable, key=rank)


def _bounded(text: bytes) -> bytes:
    if len(text) > MAX_FORWARDED_BYTES:
        raise response_too_large()
    return text


def _refused(error: UpstreamRefusedError) -> RpcError:
    if len(error.data) + len(error.whole_message) > MAX_FORWARDED_BYTES:
        return response_too_large()
    return ForwardedError(error)


def _may_be_answered_elsewhere(error: UpstreamRefusedError) -> bool:
    return (
        error.is_about_rate
        or error.code in (METHOD_NOT_FOUND, BLOCK_NOT_FOUND)
        or error.code in HTTP_STATUSES
    )
