"""Pending block, the state after it, and the rows of a block that may be the pending one."""

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias, TypeVar

from wsnode.ethereum.building.pending_block import NoNextBlockError, PendingBlockBuilder, Steps
from wsnode.ethereum.codec.blocks import BuiltBlock
from wsnode.ethereum.codec.rows import Rows, header_fields
from wsnode.ethereum.not_found import header_not_found
from wsnode.ethereum.primitives.values import BlockNumber, Hash32
from wsnode.ethereum.rpc.common.lookup import (
    is_pending,
    numbered_rows,
    require_kept,
    state_block,
    state_number,
)
from wsnode.ethereum.rpc.common.parameters import TAG_NAMES, BlockParameter
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import ReorganisedError
from wsnode.jsonrpc.errors import server_error
from wsnode.jsonrpc.work import Step

StateBlock: TypeAlias = tuple[BlockNumber, Hash32] | BuiltBlock
"""Block whose state is read: number and hash of a stored block, or the pending block."""
Answer = TypeVar("Answer")


class PendingState(PendingBlockBuilder):
    """Builder of the pending block for methods whose block parameter is `pending`; its errors are geth's
    JSON-RPC errors.
    """

    def after(self, view: Snapshot) -> BuiltBlock:
        """Return the block after the view's head.

        Raises:
            RpcError: No block can follow, or the head is no longer stored.
        """
        with _missed():
            return super().after(view)

    def state_after(self, view: Snapshot) -> Steps[BuiltBlock]:
        """Return the pending block with the state after it; a long build runs in a worker thread.

        Raises:
            RpcError: No block can follow, or the head is no longer stored.
        """
        with _missed():
            return (yield from super().state_after(view))

    def read_at(
        self, view: Snapshot, block: BlockParameter, read: Callable[[StateBlock], Answer]
    ) -> Answer | Steps[Answer]:
        """Return `read` of the block whose state a parameter names; steps if that must be built first.

        Raises:
            RpcError: There is no such block on the canonical chain.
        """

        def read_stored(found: StateBlock) -> Answer:
            try:
                return read(found)
            except ReorganisedError:
                raise header_not_found() from None

        if is_pending(view, block.number):
            return self.read(view, read_stored)
        return read_stored(state_block(view, block))

    def block(self, view: Snapshot, block: BlockParameter) -> Steps[StateBlock]:
        """Return the block whose state a parameter names: number and hash, or the pending block.

        Raises:
            RpcError: There is no such block on the canonical chain.
        """
        if is_pending(view, block.number):
            return (yield from self.state_after(view))
        return state_block(view, block)

    def header(self, view: Snapshot, block: BlockParameter) -> Steps[bytes | BuiltBlock]:
        """Return the header row of the block whose state a parameter names, or the pending block.

        Raises:
            RpcError: There is no such block on the canonical chain.
        """
        if is_pending(view, block.number):
            return (yield from self.state_after(view))
        header = view.header(state_number(view, block))
        if header is None:
            raise header_not_found()
        return header


@contextmanager
def _missed() -> Iterator[None]:
    try:
        yield
    except NoNextBlockError as error:
        raise server_error(str(error)) from None
    except ReorganisedError:
        raise header_not_found() from None


def block_rows(view: Snapshot, block: BlockParameter, pending: PendingState) -> Generator[Step, Any, Rows]:
    """Return header row and body row of a block, canonical or not, or of the pending block.

    Raises:
        RpcError: There is no such block.
    """
    if is_pending(view, block.number):
        built = yield from pending.state_after(view)
        return built.header, built.body
    if block.number is not None:
        found = numbered_rows(view, block.number)
    else:
        assert block.hash is not None
        found = view.block_rows(block.hash)
    if found is None:
        raise server_error(f"block {written(block)} not found")
    return found


def check_parent(view: Snapshot, found: Rows) -> None:
    """Check that a block's parent is canonical, because only canonical state is kept.

    Raises:
        RpcError: It is not, or it is below the first block.
    """
    header = header_fields(found[0])
    require_kept(view, max(header.number - 1, 0))
    if view.hash_of(header.number - 1) != header.parent_hash:
        raise server_error("hash is not currently canonical")


def written(block: BlockParameter) -> str:
    """Return a block parameter as geth prints it."""
    number, block_hash = "<nil>", "<nil>"
    if block.number is not None:
        number = TAG_NAMES.get(block.number, hex(block.number))
    if block.hash is not None:
        block_hash = f"0x{block.hash.hex()}"
    return f"{{{number} {block_hash} {str(block.require_canonical).lower()}}}"
