"""Race of several upstreams for one call: the next one is asked if the last takes unusually long."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Generic, TypeVar

import trio

from wsnode.upstream.client import Client
from wsnode.upstream.errors import UpstreamError

Result = TypeVar("Result")


async def first_answer(
    clients: Sequence[Client], ask: Callable[[Client], Awaitable[Result]]
) -> tuple[Client, Result]:
    """Return the first answering client and its result; requests to the others are cancelled.

    The first client is asked immediately, the next one when the last has failed or is slower than 19 of 20 of
    its earlier answers.

    Raises:
        UpstreamError: All clients failed; the last failure.
    """
    race: _Race[Result] = _Race(ask)
    async with trio.open_nursery() as nursery:
        for client in clients:
            failed = trio.Event()
            nursery.start_soon(race.run, client, failed)
            with trio.move_on_after(client.score.p95):
                await race.wait(failed)
            if race.won is not None:
                break
        else:
            await race.wait_all(len(clients))
        nursery.cancel_scope.cancel()
    if race.won is None:
        raise race.failure or UpstreamError("unreachable", "there is no upstream to ask")
    return race.won


class _Race(Generic[Result]):
    def __init__(self, ask: Callable[[Client], Awaitable[Result]]) -> None:
        self._ask = ask
        self.won: tuple[Client, Result] | None = None
        self.failure: UpstreamError | None = None
        self._ended = 0
        self._changed = trio.Event()

    async def run(self, client: Client, failed: trio.Event) -> None:
        try:
            answer: Any = await self._ask(client)
            if self.won is None:
                self.won = client, answer
        except UpstreamError as error:
            self.failure = error
            failed.set()
        self._ended += 1
        changed, self._changed = self._changed, trio.Event()
        changed.set()

    async def wait(self, failed: trio.Event) -> None:
        while self.won is None and not failed.is_set():
            await self._changed.wait()

    async def wait_all(self, count: int) -> None:
        while self.won is None and self._ended < count:
            await self._changed.wait()
