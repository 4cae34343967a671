"""Nodes that prove a state: one is asked for a whole round, and the next one if its proofs are wrong."""

import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence, Set
from copy import copy
from functools import partial
from typing import Any, Final

import msgspec
import trio

from wsnode.ethereum.codec.blocks import read_json_header
from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import Hash32, hexadecimal
from wsnode.ethereum.state import InvalidBlockError, WrongProofError
from wsnode.jsonrpc.errors import RESOURCE_UNAVAILABLE, RpcError
from wsnode.sync.proofs.blocks import ProofBlock, ProofStore, Slots
from wsnode.sync.proofs.proof_window import UpstreamProofWindows
from wsnode.sync.proofs.state_request import (
    Call,
    Proof,
    StateRequest,
    grouped,
    listed,
    proofs_of,
    questions,
    unverified_code_hash,
    with_codes,
)
from wsnode.upstream.client import Client
from wsnode.upstream.errors import ConnectionLostError, UpstreamError, UpstreamRefusedError

BATCH: Final = 100
"""Maximum number of calls in a batch, as most providers take them."""
MAX_HASHES: Final = 256
MAX_CODED: Final = 1 << 16
ABSENT: Final = bytes(32)
"""Code hash of an account that does not exist, in answers to eth_getProof."""

logger = logging.getLogger("wsnode.proofs")


class ProofClient:
    """Client that fetches state values with proofs from nodes, and keeps the values in `blocks` once they are
    verified; it counts requests and wrong proofs.
    """

    def __init__(self, clients: Callable[[], Sequence[Client]], blocks: ProofStore) -> None:
        self.clients = clients
        self.blocks = blocks
        self.asked = Counter[str]()
        """Number of values asked for, by upstream."""
        self.carried = 0
        """Number of values that access lists carried from earlier blocks."""
        self.wrong = Counter[str]()
        """Number of rounds with wrong proofs, by upstream."""
        self.depths = UpstreamProofWindows()
        self._coded: set[bytes] = set()
        """Accounts whose code was proved once; it changes almost never."""

    def of_other_blocks(self, blocks: ProofStore) -> "ProofClient":
        """Return a client of the same nodes for the states of other blocks; both count together.

        All states share one store of codes.
        """
        others = copy(self)
        others.blocks = blocks
        return others

    async def carry(self, accounts: Sequence[bytes], slots: Slots, block: ProofBlock) -> list[StateRequest]:
        """Keep values after a block that follow from earlier states; return requests for the others."""
        others = await trio.to_thread.run_sync(self.blocks.carry, block, accounts, slots)
        self.carried += len(accounts) + len(slots) - sum(map(len, others))
        self._note_code_of(set(accounts).difference(others[0]))
        return grouped(*others)

    async def prove(self, wanted: Sequence[StateRequest], block: ProofBlock) -> None:
        """Fetch values after a block, verify them and keep them.

        Raises:
            RpcError: No node proves them.
        """
        await self._by_any(partial(self._proved_by, wanted, block), block)

    async def name(self, numbers: Sequence[int], block: ProofBlock) -> None:
        """Keep the hashes of blocks before a block; fetched ones are verified by their links up to it.

        Raises:
            RpcError: No node has them.
        """
        own = self.blocks.hashes_before(block, numbers)
        if own is not None:
            await trio.to_thread.run_sync(self.blocks.keep_hashes, block, own)
            return
        await self._by_any(partial(self._named_by, min(numbers), block), block)

    async def guess(self, call: Any, block: ProofBlock) -> list[StateRequest]:
        """Return the reads of a call that a node predicts: a hint, which may be wrong."""
        for client in self._ranked():
            try:
                params = [call, block.name]
                return client.read(listed, await client.ask_text("eth_createAccessList", params))
            except UpstreamError:
                continue
        return []

    def have_proved(self, addresses: Iterable[bytes]) -> bool:
        """Return True if accounts were proved before, after any block, so that their code is known."""
        return self._coded.issuperset(addresses)

    def _ranked(self) -> list[Client]:
        return sorted(self.clients(), key=lambda client: client.score.cost)

    async def _by_any(self, ask: Callable[[Client], Awaitable[None]], block: ProofBlock) -> None:
        reasons: dict[str, str] = {}
        refused: list[Client] = []
        for client in self._ranked():
            try:
                await _asked(ask, client)
            except UpstreamError as error:
                reasons[str(client)] = error.detail or error.reason
                if isinstance(error, UpstreamRefusedError) and error.is_about_what_was_asked:
                    refused.append(client)
            except (WrongProofError, InvalidBlockError) as error:
                self.wrong[str(client)] += 1
                client.score.failed()
                logger.warning("%s: %s", client, error)
                reasons[str(client)] = f"wrong: {error}"
            else:
                return
        raise unprovable(block.head, reasons, await self.depths.oldest(refused))

    async def _proved_by(self, wanted: Sequence[StateRequest], block: ProofBlock, client: Client) -> None:
        self.asked[str(client)] += sum(each.proofs for each in wanted)
        asked = [
            msgspec.structs.replace(each, with_code=each.with_code and each.address not in self._coded)
            for each in wanted
        ]
        answers = await _answered(client, questions(asked, block.name))
        proofs = client.read(partial(proofs_of, asked), answers)
        if asked != list(wanted):
            proofs = await self._completed(wanted, asked, proofs, answers, block, client)
        try:
            await trio.to_thread.run_sync(self.blocks.keep_proofs, block, proofs)
        except WrongProofError:
            if all(each.with_code for each in asked):
                raise
            # The code may be missing in the store: a full store was emptied after the code had been found
            # there. So the accounts are requested with their code.
            self._coded.difference_update(each.address for each in wanted)
            whole = [msgspec.structs.replace(each, with_code=True) for each in wanted]
            await self._proved_by(whole, block, client)
            return
        self._note_code_of({each.address for each in wanted if each.with_code})

    def _note_code_of(self, addresses: Set[bytes]) -> None:
        if len(self._coded) > MAX_CODED:
            self._coded.clear()
        self._coded |= addresses

    async def _completed(
        self,
        wanted: Sequence[StateRequest],
        asked: Sequence[StateRequest],
        proofs: Sequence[Proof],
        answers: Sequence[bytes],
        block: ProofBlock,
        client: Client,
    ) -> list[Proof]:
        """Return the proofs, with the codes that accounts have received since they were last proved."""
        remaining, new = iter(answers), []
        for place, (each, had) in enumerate(zip(wanted, asked, strict=True)):
            answer = next(remaining)
            if had.with_code:
                next(remaining)
            elif each.with_code and not self._has_code(unverified_code_hash(answer)):
                new.append(place)
        calls: list[Call] = [
            ("eth_getCode", [hexadecimal(wanted[place].address), block.name]) for place in new
        ]
        return with_codes(proofs, dict(zip(new, await _answered(client, calls), strict=True)))

    def _has_code(self, code_hash: bytes) -> bool:
        """Return True if a code is known; an account that does not exist has none."""
        return code_hash == ABSENT or self.blocks.has_code(code_hash)

    async def _named_by(self, lowest: int, block: ProofBlock, client: Client) -> None:
        head = block.head
        numbers = range(max(lowest, head.number - MAX_HASHES), head.number)
        calls: list[Call] = [("eth_getBlockByNumber", [hex(number), False]) for number in numbers]
        answers = await _answered(client, calls)
        hashes, wanted = [], block.parent_hash
        for number, answer in zip(reversed(numbers), reversed(answers), strict=True):
            found, block_hash, parent = read_json_header(answer)
            if (found, block_hash) != (number, wanted):
                raise WrongProofError(f"its block {number} does not lead to block {head.number}")
            hashes.append((number, block_hash))
            wanted = Hash32(parent)
        await trio.to_thread.run_sync(self.blocks.keep_hashes, block, hashes)


async def _asked(ask: Callable[[Client], Awaitable[None]], client: Client) -> None:
    """Ask a node, and once more over another connection if the first one is lost."""
    try:
        await ask(client)
    except ConnectionLostError:
        await ask(client)


async def _answered(client: Client, calls: Sequence[Call]) -> list[bytes]:
    """Return the results of calls, asked for in batches of one method each, all concurrently.

    Raises:
        UpstreamError: A call has no result.
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


def unprovable(head: Head, reasons: dict[str, str], oldest: int | None = None) -> RpcError:
    """Return the error of a call for unproved state; nodes prove later blocks, from `oldest` on."""
    message = f"the state of block {head.number} is not proved: "
    message += next(iter(reasons.values()), "there is no upstream")
    data: dict[str, Any] = {
        "block": {"number": hex(head.number), "hash": hexadecimal(head.hash)},
        "upstreams": reasons,
    }
    if oldest is not None and oldest > head.number:
        message += f"; the oldest that is proved is block {oldest}"
        data["oldest"] = hex(oldest)
    return RpcError(RESOURCE_UNAVAILABLE, message, data)
