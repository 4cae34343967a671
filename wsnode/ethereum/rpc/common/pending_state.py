"""Pending block and the state after it, in the form in which methods read them."""

from collections.abc import Iterator
from contextlib import contextmanager

from wsnode.ethereum.building.pending_block import NoNextBlockError, PendingBlockBuilder, Steps
from wsnode.ethereum.codec.blocks import BuiltBlock
from wsnode.ethereum.not_found import header_not_found
from wsnode.ethereum.primitives.values import BlockNumber, Hash32
from wsnode.ethereum.rpc.common.lookup import is_pending, state_block, state_number
from wsnode.ethereum.rpc.common.parameters import BlockParameter
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import ReorganisedError
from wsnode.jsonrpc.errors import server_error


class PendingState(PendingBlockBuilder):
    """The pending block as a block parameter names it, with geth's errors."""

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

    def block(self, view: Snapshot, block: BlockParameter) -> Steps[tuple[BlockNumber, Hash32] | BuiltBlock]:
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
