"""The block to come, and the state after it, as methods ask for them."""

from collections.abc import Iterator
from contextlib import contextmanager

from wsnode.ethereum.building.pending_block import NoNextBlockError, PendingBlock, Steps
from wsnode.ethereum.codec.blocks import BuiltBlock
from wsnode.ethereum.primitives.values import BlockNumber, Hash32
from wsnode.ethereum.rpc.form.lookup import state_block, state_number
from wsnode.ethereum.rpc.form.parameters import PENDING, BlockParameter
from wsnode.ethereum.rpc.form.results import header_not_found
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import ReorganisedError
from wsnode.jsonrpc.errors import server_error


class PendingState(PendingBlock):
    """A pending block that is found by a block parameter, and missed in geth's words."""

    def after(self, view: Snapshot) -> BuiltBlock:
        """Return the block after the view's head.

        Raises:
            RpcError: There is none, or the head is gone.
        """
        with _missed():
            return super().after(view)

    def state_after(self, view: Snapshot) -> Steps[BuiltBlock]:
        """Return that block for who reads the state after it; if building takes long, a thread does it.

        Raises:
            RpcError: There is none, or the head is gone.
        """
        with _missed():
            return (yield from super().state_after(view))

    def block(self, view: Snapshot, block: BlockParameter) -> Steps[tuple[BlockNumber, Hash32] | BuiltBlock]:
        """Return the block after which state is asked for.

        Raises:
            RpcError: There is no such block on the canonical chain.
        """
        if block.number == PENDING:
            return (yield from self.state_after(view))
        return state_block(view, block)

    def header(self, view: Snapshot, block: BlockParameter) -> Steps[bytes | BuiltBlock]:
        """Return the header row of the block on whose state something is to run, or the block to come.

        Raises:
            RpcError: There is no such block on the canonical chain.
        """
        if block.number == PENDING:
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
