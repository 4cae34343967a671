"""Oldest blocks whose states nodes prove, found by asking, to be named in an error."""

from collections.abc import Sequence
from contextlib import suppress
from time import monotonic
from typing import Any, Final
from weakref import WeakKeyDictionary

import msgspec
import trio

from wsnode.untrusted.decoding import MalformedError, decode_json, decode_quantity
from wsnode.upstream.client import Client
from wsnode.upstream.errors import UpstreamError, UpstreamRefusedError
from wsnode.upstream.messages import NOTHING

MAX_QUESTIONS: Final = 32
SEARCH_SECONDS: Final = 5.0
KEPT_SECONDS: Final = 30.0
NOBODY: Final = "0x" + "00" * 20


class _Found(msgspec.Struct, frozen=True):
    oldest: int | None
    until: float


class UpstreamProofWindows:
    """Cache of the oldest block whose state each node proves, kept for `KEPT_SECONDS`."""

    def __init__(self) -> None:
        self._found: WeakKeyDictionary[Client, _Found] = WeakKeyDictionary()
        self._searching = trio.Lock()

    async def oldest(self, clients: Sequence[Client]) -> int | None:
        """Return the number of the oldest block whose state one of these nodes proves, None if they prove
        none.

        Each node is asked at most `MAX_QUESTIONS` questions, once in `KEPT_SECONDS`.
        """
        async with self._searching, trio.open_nursery() as nursery:
            for client in clients:
                if client not in self._found or self._found[client].until < monotonic():
                    nursery.start_soon(self._find, client)
        found = [self._found[client].oldest for client in clients]
        return min((number for number in found if number is not None), default=None)

    async def _find(self, client: Client) -> None:
        self._found[client] = _Found(await oldest_proved(client), monotonic() + KEPT_SECONDS)


async def oldest_proved(client: Client) -> int | None:
    """Return the number of the oldest block whose state a node proves, None if it proves none.

    If the search ends early, at `MAX_QUESTIONS` or `SEARCH_SECONDS`, return the oldest one found so far.
    """
    search = _Search(client)
    with trio.move_on_after(SEARCH_SECONDS):
        # A failure ends the search; the blocks found before it are proved nevertheless.
        with suppress(UpstreamError):
            await search.run()
    return search.proved


class _Search:
    """Search for the oldest block whose state a node proves, from the node's head downwards in doubling
    steps, then by bisection.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._left = MAX_QUESTIONS
        self.proved: int | None = None
        self._refused = -1

    async def run(self) -> None:
        head = _number(await self._ask("eth_blockNumber", []))
        if not await self._is_proved(head):
            return
        step = 1
        while self._refused < 0 and self.proved and self._left:
            await self._is_proved(max(head - step, 0))
            step *= 2
        while self.proved is not None and self.proved - self._refused > 1 and self._left:
            await self._is_proved((self.proved + self._refused) // 2)

    async def _is_proved(self, number: int) -> bool:
        try:
            answer = await self._ask("eth_getProof", [NOBODY, [], hex(number)])
        except UpstreamRefusedError as error:
            if error.is_about_rate:
                raise
            answer = None
        if answer is None:
            self._refused = number
            return False
        self.proved = number
        return True

    async def _ask(self, method: str, params: list[Any]) -> bytes | None:
        self._left -= 1
        text = await self._client.ask_text(method, params)
        return None if text == NOTHING else text


def _number(text: bytes | None) -> int:
    try:
        return decode_quantity(decode_json(text or b""))
    except MalformedError as error:
        raise UpstreamError("invalid", f"eth_blockNumber's result is no quantity: {error}") from None
