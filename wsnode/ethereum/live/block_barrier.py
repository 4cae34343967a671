"""Blocks that clients name before they are here: this node may be behind others of its chain."""

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec
import trio

from wsnode.ethereum.head import Head
from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.primitives.values import Hash32, hexadecimal
from wsnode.jsonrpc.client_quota import ClientQuota
from wsnode.jsonrpc.errors import RESOURCE_NOT_FOUND, RpcError

Announced = Callable[[], int | None]
"""Returns the height that blocks elsewhere have reached, None if nothing is known of it.

A follower's upstreams announce it, a replica reads it from its journal.
"""


_BLOCK: Final = re.compile(r"([0-9]{1,19}|0[xX][0-9a-fA-F]{1,16})(?::(0[xX][0-9a-fA-F]{64}))?", re.ASCII)
_MOST: Final = (1 << 63) - 1


def nothing_known() -> None:
    """Return None, where nobody says what there is elsewhere."""
    return


class NamedBlock(msgspec.Struct, frozen=True):
    """A block that a call names, by its number or by its hash: it may be there, or none is."""

    number: int | None
    hash: Hash32 | None = None


class SeenHead(msgspec.Struct, frozen=True):
    """A block that the client has had from a node of the chain, as its cursor says."""

    number: int
    hash: Hash32


class MinBlock(msgspec.Struct, frozen=True):
    """The block that a node must have, or one of its height, before it serves the client."""

    number: int
    hash: Hash32 | None = None


Awaited = NamedBlock | SeenHead | MinBlock


class NodeLaggingError(RpcError):
    """A block that a call names is not here yet, and has come elsewhere."""

    def __init__(self, head: Any) -> None:
        super().__init__(
            RESOURCE_NOT_FOUND, "the node is behind: it has no such block yet", {"behind": True, "head": head}
        )


class BlockBarrier:
    """Decides what calls wait for, and has them wait; implements `server.access.min_block.BlockWaiter`."""

    def __init__(
        self,
        hub: Hub,
        announced: Announced = nothing_known,
        *,
        seconds: float,
        most: int,
    ) -> None:
        """A wait takes `seconds` at most, and `most` wait at once."""
        self._hub = hub
        self._announced = announced
        self.seconds = seconds
        self._waiting = ClientQuota(most)
        self.waits = self.missed = 0
        """How often something has waited, and how often in vain."""
        self._written: tuple[Head, str] | None = None

    @property
    def knows_others(self) -> bool:
        """Return whether anything is known of blocks elsewhere."""
        return self._announced is not nothing_known

    @property
    def waiting(self) -> int:
        """Return how many calls and connections wait."""
        return self._waiting.used

    @property
    def head(self) -> Head:
        """Return the head that was published last."""
        return self._hub.head

    @property
    def is_behind(self) -> bool:
        """Return whether there are higher blocks elsewhere, as far as is known."""
        highest = self._announced()
        return highest is not None and highest > self._hub.head.number

    @staticmethod
    def parse(text: str) -> MinBlock:
        """Return the block that `NUMBER` or `NUMBER:HASH` demands; the number is decimal or a quantity.

        Raises:
            ValueError: It is malformed.
        """
        if (match := _BLOCK.fullmatch(text)) is None or (number := int(match[1], _base(match[1]))) > _MOST:
            raise ValueError("a block is written NUMBER or NUMBER:HASH")
        return MinBlock(number, None if match[2] is None else Hash32(bytes.fromhex(match[2][2:])))

    def is_due(self, awaited: Awaited, here: int) -> bool:
        """Return whether a block is yet to come where the head's number is `here`."""
        number, block_hash = awaited.number, awaited.hash
        if isinstance(awaited, NamedBlock):
            highest = self._announced()
            if highest is None or highest <= here:
                return False
            above = number is not None and here < number <= highest
            return above or (block_hash is not None and not self._is_stored(block_hash))
        if block_hash is None:
            return awaited.number > here
        if awaited.number <= here and isinstance(awaited, SeenHead) and not self.knows_others:
            return False
        return not self._is_settled(awaited, block_hash)

    def has_come(self, awaited: Awaited) -> bool:
        """Return whether a block is here, or none will come."""
        return not self.is_due(awaited, self._hub.head.number)

    async def wait(self, awaited: Sequence[Awaited], client: Any = None) -> None:
        """Return once all are here, or can be looked for.

        Raises:
            NodeLaggingError: One did not come in time.
            RpcError: Too many wait.
        """
        self._waiting.take_or_refuse(client, "too many calls wait for blocks")
        self.waits += 1
        try:
            self._hub.advance()
            with trio.move_on_after(self.seconds):
                while not all(map(self.has_come, awaited)):
                    await self._hub.wait_move(self._hub.head)
        finally:
            self._waiting.give_back(client)
        if any(map(self._is_missed, awaited)):
            self.missed += 1
            raise self.behind()

    def behind(self) -> NodeLaggingError:
        """Return the error of a call that names a block which is not here yet."""
        return NodeLaggingError(self._hub.head.members())

    def written(self, head: Head | None) -> str:
        """Return a head as `NUMBER:HASH`, the present one for None."""
        head = head or self._hub.head
        # Most replies are computed on the same head as the one before.
        if self._written is None or self._written[0] != head:
            self._written = head, f"{head.number}:{hexadecimal(head.hash)}"
        return self._written[1]

    def _is_missed(self, awaited: Awaited) -> bool:
        """Return whether a block is due after the wait; of a cursor on another branch its handler says so."""
        is_above = awaited.number is None or awaited.number > self._hub.head.number
        return (is_above or isinstance(awaited, MinBlock)) and not self.has_come(awaited)

    def _is_stored(self, block_hash: Hash32) -> bool:
        with self._hub.snapshot() as view:
            return view.number_of(block_hash) is not None or view.side_header(block_hash) is not None

    def _is_settled(self, awaited: SeenHead | MinBlock, block_hash: Hash32) -> bool:
        """Return whether a block was canonical here, or would not become it any more.

        Below the head too a reorganisation may bring it that another node has gone through already.
        """
        with self._hub.snapshot() as view:
            if view.number_of(block_hash) is not None or view.side_receipts(block_hash) is not None:
                return True
            # It cannot be said any more what there was below a window.
            final = -1 if isinstance(awaited, MinBlock) else view.finalized or -1
            return awaited.number < view.earliest or awaited.number <= final


def _base(text: str) -> int:
    return 16 if text[:2] in ("0x", "0X") else 10
