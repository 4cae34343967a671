"""The nodes that prove a state: one is asked for a whole round, and the next one if its proofs are wrong."""

import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Final, Protocol

import trio

from wsnode.ethereum.codec.blocks import read_told_header
from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import Hash32, hexadecimal
from wsnode.ethereum.state import InvalidBlockError, State, WrongProofError
from wsnode.jsonrpc.errors import RESOURCE_UNAVAILABLE, RpcError
from wsnode.sync.proofs.wanted import Call, Wanted, listed, proofs_of, questions
from wsnode.upstream.client import Client
from wsnode.upstream.errors import UpstreamError

BATCH: Final = 100
"""Calls in a batch: what most providers take."""
MOST_HASHES: Final = 256

logger = logging.getLogger("wsnode.proofs")


class Stateful(Protocol):
    """An open chain; once it is closed it has no state."""

    state: State


class Block:
    """The block whose state is proved."""

    def __init__(self, head: Head, parent_hash: Hash32) -> None:
        self.head = head
        self.parent_hash = parent_hash

    @property
    def name(self) -> dict[str, str]:
        """Return the parameter that names it, which no reorganisation gives another meaning."""
        return {"blockHash": hexadecimal(self.head.hash)}


class Provers:
    """Other nodes that have the state after a block, and what came of asking them."""

    def __init__(self, clients: Sequence[Client], chain: Stateful, block: Block) -> None:
        self._clients = clients
        self._chain = chain
        self.block = block
        self.asked = Counter[str]()
        """Values asked for, by upstream."""
        self.wrong = Counter[str]()
        """Rounds whose proofs were wrong, by upstream."""

    async def prove(self, wanted: Sequence[Wanted]) -> None:
        """Fetch values and keep them once they are verified.

        Raises:
            RpcError: No node proves them.
        """
        await self._by_any(partial(self._proved_by, wanted))

    async def name(self, numbers: Sequence[int]) -> None:
        """Fetch the hashes of blocks before the block, and keep them once they lead up to it.

        Raises:
            RpcError: No node has them.
        """
        await self._by_any(partial(self._named_by, min(numbers)))

    async def guess(self, call: Any) -> list[Wanted]:
        """Return what a node says that a call will read: a hint, which may be wrong."""
        for client in self._ranked():
            try:
                params = [call, self.block.name]
                return listed(await client.ask_text("eth_createAccessList", params))
            except UpstreamError:
                continue
        return []

    def _ranked(self) -> list[Client]:
        return sorted(self._clients, key=lambda client: client.score.cost)

    async def _by_any(self, ask: Callable[[Client], Awaitable[None]]) -> None:
        reasons = {}
        for client in self._ranked():
            try:
                await ask(client)
            except UpstreamError as error:
                reasons[str(client)] = error.detail or error.reason
            except (WrongProofError, InvalidBlockError) as error:
                self.wrong[str(client)] += 1
                client.score.failed()
                logger.warning("%s: %s", client, error)
                reasons[str(client)] = f"wrong: {error}"
            else:
                return
        raise unprovable(self.block.head, reasons)

    async def _proved_by(self, wanted: Sequence[Wanted], client: Client) -> None:
        self.asked[str(client)] += sum(each.proofs for each in wanted)
        answers = await _answered(client, questions(wanted, self.block.name))
        await trio.to_thread.run_sync(self._chain.state.keep_proofs, proofs_of(wanted, answers))

    async def _named_by(self, lowest: int, client: Client) -> None:
        head = self.block.head
        numbers = range(max(lowest, head.number - MOST_HASHES), head.number)
        calls: list[Call] = [("eth_getBlockByNumber", [hex(number), False]) for number in numbers]
        answers = await _answered(client, calls)
        hashes, wanted = [], self.block.parent_hash
        for number, answer in zip(reversed(numbers), reversed(answers), strict=True):
            found, block_hash, parent = read_told_header(answer)
            if (found, block_hash) != (number, wanted):
                raise WrongProofError(f"its block {number} does not lead to block {head.number}")
            hashes.append((number, block_hash))
            wanted = Hash32(parent)
        self._chain.state.keep_hashes(hashes)


async def _answered(client: Client, calls: Sequence[Call]) -> list[bytes]:
    """Return the results of calls, asked for in batches of one method each, all at once.

    Raises:
        UpstreamError: One of them has none.
    """
    places: dict[str, list[int]] = {}
    for place, (method, _params) in enumerate(calls):
        places.setdefault(method, []).append(place)
    batches = [own[start : start + BATCH] for own in places.values() for start in range(0, len(own), BATCH)]
    found: dict[int, bytes | UpstreamError] = {}

    async def ask(batch: Sequence[int]) -> None:
        method, params = calls[batch[0]][0], [calls[place][1] for place in batch]
        answers: Sequence[bytes | UpstreamError]
        try:
            answers = await client.ask_each(method, params)
        except UpstreamError as error:
            answers = [error] * len(batch)
        found.update(zip(batch, answers, strict=True))

    async with trio.open_nursery() as nursery:
        for batch in batches:
            nursery.start_soon(ask, batch)
    texts = []
    for place in range(len(calls)):
        answer = found[place]
        if isinstance(answer, UpstreamError):
            raise answer
        texts.append(answer)
    return texts


def unprovable(head: Head, reasons: dict[str, str]) -> RpcError:
    """Return the error of a call that needs what no node proves."""
    reason = next(iter(reasons.values()), "there is no upstream")
    return RpcError(
        RESOURCE_UNAVAILABLE,
        f"the state of block {head.number} is not proved: {reason}",
        {"block": {"number": hex(head.number), "hash": hexadecimal(head.hash)}, "upstreams": reasons},
    )
