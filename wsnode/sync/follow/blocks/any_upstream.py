"""Questions to whichever upstream answers first, and several questions concurrently."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeVar

import trio

from wsnode.sync.follow.blocks.block_client import block_of_number
from wsnode.sync.follow.upstream import PeerError, Upstream
from wsnode.upstream.client import Client, first_answer
from wsnode.upstream.errors import UpstreamError

Item = TypeVar("Item")
Result = TypeVar("Result")


async def first_of(
    upstreams: Sequence[Upstream], ask: Callable[[Upstream], Awaitable[Result]]
) -> tuple[Result, Upstream]:
    """Return the first answer and the upstream that gave it; see `first_answer`.

    Raises:
        UpstreamError: No upstream answers; the last failure.
    """
    by_client = {upstream.client: upstream for upstream in upstreams}

    async def ask_client(client: Client) -> Result:
        return await ask(by_client[client])

    client, result = await first_answer(list(by_client), ask_client)
    return result, by_client[client]


async def block_of_any(upstreams: Sequence[Upstream], number: int) -> tuple[bytes, Upstream]:
    """Return the RLP of a block that an upstream names as canonical, and the upstream; not verified.

    Raises:
        UpstreamError: No upstream has it.
    """
    return await first_of(upstreams, lambda upstream: block_of_number(upstream, number))


async def all_at_once(items: Iterable[Item], ask: Callable[[Item], Awaitable[Result]]) -> list[Result]:
    """Return an answer for each item, in their order; the first failure cancels the other questions.

    Raises:
        PeerError, UpstreamError: The first failure.
    """
    found: dict[int, Result] = {}
    failures: list[PeerError | UpstreamError] = []
    async with trio.open_nursery() as nursery:

        async def ask_one(place: int, item: Item) -> None:
            try:
                found[place] = await ask(item)
            except (PeerError, UpstreamError) as error:
                # The nursery would wrap the error in an exception group, so it is raised after the nursery.
                failures.append(error)
                nursery.cancel_scope.cancel()

        for place, item in enumerate(items):
            nursery.start_soon(ask_one, place, item)
    if failures:
        raise failures[0]
    return [found[place] for place in range(len(found))]
