"""A chain of records: every change made again on a chain of its own, every standing compared."""

from wsnode.cluster.records import (
    BlockRecord,
    ChainIdRecord,
    ChainState,
    Change,
    PatchRecord,
    ReorgRecord,
    Rollback,
)
from wsnode.ethereum.chain import Chain, FinalityMarks
from wsnode.ethereum.codec.blocks import UnverifiedBlock, decode_blocks
from wsnode.ethereum.codec.rows import header_fields
from wsnode.ethereum.development.builder import BlockBuilder
from wsnode.ethereum.primitives.values import Hash32
from wsnode.ethereum.state import BlockAttributes, StateError
from wsnode.ethereum.storage import meta, state_patches


def standing_of(chain: Chain) -> ChainState:
    """Return how a chain stands, by what it is and not by how it came to be."""
    with chain.snapshot() as view:
        safe, finalized = (meta.marked_head(view.reader, mark) for mark in (meta.SAFE, meta.FINALIZED))
        return ChainState(view.head, Hash32(chain.state.state_root), view.chain_id, safe, finalized)


class Replayed:
    """A chain that makes changes again."""

    def __init__(self, chain: Chain) -> None:
        self.chain = chain
        self._builder = BlockBuilder(chain)

    def apply(self, change: Change, after: ChainState) -> None:
        """Make a change; the chain stands as the record says then."""
        match change:
            case BlockRecord():
                self._append(change)
            case ReorgRecord():
                self._reorganise(change)
            case Rollback():
                self._builder.unwind(after.head.number, after.state_root)
            case PatchRecord(accounts):
                self._builder.patch(accounts)
            case ChainIdRecord():
                self._builder.set_chain_id(after.chain_id)
        self.chain.mark(FinalityMarks(after.safe, after.finalized))
        found = standing_of(self.chain)
        assert found.agrees_with(after)
        assert (found.safe, found.finalized) == (after.safe or found.safe, after.finalized or found.finalized)

    def go_back(self, standing: ChainState) -> bool:
        """Take back what followed a standing, and return whether the chain ever stood so."""
        with self.chain.snapshot() as view:
            is_canonical = view.number_of(standing.head.hash) is not None
        try:
            if is_canonical:
                self._builder.unwind(standing.head.number, standing.state_root)
        except StateError:
            return False
        return is_canonical and standing.agrees_with(standing_of(self.chain))

    def _reorganise(self, change: ReorgRecord) -> None:
        ancestor = change.ancestor
        with self.chain.snapshot() as view:
            root = state_patches.unpatched_root(view.reader, ancestor.head.number)
        self._builder.unwind(ancestor.head.number, root)
        for patch in change.patches:
            self._builder.patch(patch.accounts)
        assert standing_of(self.chain).agrees_with(ancestor)
        for block in change.blocks:
            assert isinstance(block, BlockRecord)
            self._append(block)

    def _append(self, change: BlockRecord) -> None:
        (block,), error = decode_blocks(self.chain.spec, [change.rlp])
        assert error is None, error
        assert not change.senders
        tree = self._builder.tree
        with tree.whole():
            extension = tree.extend([block], _attributes(block) if change.is_free else None)
            assert extension.error is None, extension.error
            tree.store(tree.take_pending())


def _attributes(block: UnverifiedBlock) -> BlockAttributes:
    fields = header_fields(block.header)
    return BlockAttributes(
        timestamp=fields.timestamp,
        fee_recipient=fields.beneficiary,
        prev_randao=bytes(32),
        gas_limit=fields.gas_limit,
        parent_beacon_block_root=bytes(32),
        base_fee=fields.base_fee,
    )
