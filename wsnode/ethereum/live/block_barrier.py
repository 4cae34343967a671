"""Wait for blocks named by clients that this node may not have, because it is behind other nodes."""

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec
import trio

from wsnode.ethereum.head import Head
from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.primitives.values import Hash32, hexadecimal
from wsnode.jsonrpc.errors import RESOURCE_NOT_FOUND, RpcError
from wsnode.jsonrpc.resource_quota import ResourceQuota

Announced = Callable[[], int | None]
"""Function that returns the height of the chain at other nodes, None if unknown.

The upstreams of a following node announce it; a replica reads it from its journal.
"""


_BLOCK: Final = re.compile(r"([0-9]{1,19}|0[xX][0-9a-fA-F]{1,16})(?::(0[xX][0-9a-fA-F]{64}))?", re.ASCII)
_MAX_NUMBER: Final = (1 << 63) - 1


def nothing_known() -> None:
    """Return None, for a node that does not know of other nodes."""
    return


class NamedBlock(msgspec.Struct, frozen=True):
    """Block that a call's parameters name, by number or by hash. Other nodes may have it, or it does not
    exist.
    """

    number: int | None
    hash: Hash32 | None = None


class SeenHead(msgspec.Struct, frozen=True):
    """Block in the cursor that a client sends to resume. A node of this chain issued the cursor, so the block
    exists.
    """

    number: int
    hash: Hash32


class MinBlock(msgspec.Struct, frozen=True):
    """Block that the node must have before it serves the client; without a hash, any block of that number."""

    number: int
    hash: Hash32 | None = None


Awaited = NamedBlock | SeenHead | MinBlock


class NodeLaggingError(RpcError):
    """Error of a call for a block that other nodes have and this node still lacks: JSON-RPC code -32001, with
    `behind` and this node's head in its data.
    """

    def __init__(self, head: Any) -> None:
        super().__init__(
            RESOURCE_NOT_FOUND, "the node is behind: it has no such block yet", {"behind": True, "head": head}
        )


class BlockBarrier:
    """Barrier for calls and connections that wait for blocks not yet on this node; implements
    `server.access.router.BlockWaiter`.
    """

    def __init__(
        self,
        hub: Hub,
        announced: Announced = nothing_known,
        *,
        seconds: float,
        most: int,
    ) -> None:
        """Let a wait take at most `seconds`, and at most `most` calls and connections wait at one time."""
        self._hub = hub
        self._announced = announced
        self.seconds = seconds
        self._waiting = ResourceQuota(most)
        self.waits = self.missed = 0
        """Number of waits, and in `missed` the number of those that ended without the block."""
        self._written: tuple[Head, str] | None = None

    @property
    def knows_others(self) -> bool:
        """Return True if the heights of other nodes are announced."""
        return self._announced is not nothing_known

    @property
    def waiting(self) -> int:
        return self._waiting.used

    @property
    def head(self) -> Head:
        """Return the head that was published last."""
        return self._hub.head

    @property
    def is_behind(self) -> bool:
        """Return True if another node has announced a higher block."""
        highest = self._announced()
        return highest is not None and highest > self._hub.head.number

    @staticmethod
    def parse(text: str) -> MinBlock:
        """Return the block in `NUMBER` or `NUMBER:HASH`; the number is decimal, or hexadecimal after 0x.

        Raises:
            ValueError: The text is malformed.
        """
        if (match := _BLOCK.fullmatch(text)) is None or (
            number := int(match[1], _base(match[1]))
        ) > _MAX_NUMBER:
            raise ValueError("a block is written NUMBER or NUMBER:HASH")
        return MinBlock(number, None if match[2] is None else Hash32(bytes.fromhex(match[2][2:])))

    def is_due(self, awaited: Awaited, here: int) -> bool:
        """Return True if a block may still come, where `here` is the number of the head."""
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
        """Return True if the node has the block, or if it will not come."""
        return not self.is_due(awaited, self._hub.head.number)

    async def wait(self, awaited: Sequence[Awaited], client: Any = None) -> None:
        """Wait until none of the blocks may still come.

        Raises:
            NodeLaggingError: A block did not come in time.
            RpcError: Too many calls wait.
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
        return NodeLaggingError(self._hub.head.members())

    def written(self, head: Head | None) -> str:
        """Return a head as `NUMBER:HASH`, the present head for None."""
        head = head or self._hub.head
        # The text of the last head is kept, since most replies are computed on the same head as the one
        # before.
        if self._written is None or self._written[0] != head:
            self._written = head, f"{head.number}:{hexadecimal(head.hash)}"
        return self._written[1]

    def _is_missed(self, awaited: Awaited) -> bool:
        """Return True if a block is still due; for a cursor's block below the head its handler decides."""
        is_above = awaited.number is None or awaited.number > self._hub.head.number
        return (is_above or isinstance(awaited, MinBlock)) and not self.has_come(awaited)

    def _is_stored(self, block_hash: Hash32) -> bool:
        with self._hub.snapshot() as view:
            return view.number_of(block_hash) is not None or view.side_header(block_hash) is not None

    def _is_settled(self, awaited: SeenHead | MinBlock, block_hash: Hash32) -> bool:
        """Return True if a block was canonical here, or can no longer become so.

        A reorganisation that another node has made already may still bring a block below the head.
        """
        with self._hub.snapshot() as view:
            if view.number_of(block_hash) is not None or view.side_receipts(block_hash) is not None:
                return True
            # Below its window the node can no longer determine which blocks were canonical, so they count as
            # settled.
            final = -1 if isinstance(awaited, MinBlock) else view.finalized or -1
            return awaited.number < view.earliest or awaited.number <= final


def _base(text: str) -> int:
    return 16 if text[:2] in ("0x", "0X") else 10
