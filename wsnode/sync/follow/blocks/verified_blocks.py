"""Blocks that are known to be valid, canonical or not, and the paths between them."""

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.blocks import UnverifiedBlock
from wsnode.ethereum.codec.rows import header_fields
from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import BlockNumber, Hash32
from wsnode.ethereum.snapshot import Snapshot
from wsnode.sync.follow.fork_choice import Path


class VerifiedBlockIndex:
    """Index by hash of blocks known to be valid.

    Those that are or were canonical are in the store, others in memory.
    """

    def __init__(self, chain: Chain) -> None:
        self._chain = chain
        self._beside: dict[Hash32, tuple[Head, Hash32]] = {}

    def add(self, block: UnverifiedBlock) -> None:
        """Take note of a block that was judged."""
        head = Head.of(block)
        self._beside[head.hash] = head, Hash32(block.parent_hash)

    def forget_below(self, number: int) -> None:
        """Forget blocks up to `number`, which can be canonical no more."""
        for block_hash in [each for each, (head, _) in self._beside.items() if head.number <= number]:
            del self._beside[block_hash]

    def __contains__(self, block_hash: bytes) -> bool:
        with self._chain.snapshot() as view:
            return (
                view.number_of(block_hash) is not None or self._parent(view, Hash32(block_hash)) is not None
            )

    def head_of(self, block_hash: Hash32) -> Head | None:
        """Return number and hash of a block that is known to be valid, None for any other."""
        with self._chain.snapshot() as view:
            if (number := view.number_of(block_hash)) is not None:
                return Head(number, block_hash)
            found = self._parent(view, block_hash)
        return None if found is None else found[0]

    def path_to(self, head: Head) -> Path | None:
        """Return the path from the canonical chain to a block, None if it leads over unknown blocks."""
        beside: list[Head] = []
        wanted = head.hash
        with self._chain.snapshot() as view:
            while (number := view.number_of(wanted)) is None:
                found = self._parent(view, wanted)
                if found is None:
                    return None
                beside.append(found[0])
                wanted = found[1]
        return Path(number, tuple(reversed(beside)))

    def _parent(self, view: Snapshot, block_hash: Hash32) -> tuple[Head, Hash32] | None:
        if (found := self._beside.get(block_hash)) is not None:
            return found
        # A side block with receipts was canonical once, so it is valid.
        header = view.side_header(block_hash)
        if header is None or view.side_receipts(block_hash) is None:
            return None
        fields = header_fields(header)
        return Head(BlockNumber(fields.number), block_hash), Hash32(fields.parent_hash)
