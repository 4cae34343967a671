"""Rows of the block for a debug_ method, and the check that its parent is canonical."""

from collections.abc import Generator
from typing import Any

from wsnode.ethereum.codec.rows import Rows, header_fields
from wsnode.ethereum.rpc.common.lookup import is_pending, numbered_rows, require_kept
from wsnode.ethereum.rpc.common.parameters import TAG_NAMES, BlockParameter
from wsnode.ethereum.rpc.common.pending_state import PendingState
from wsnode.ethereum.snapshot import Snapshot
from wsnode.jsonrpc.errors import server_error
from wsnode.jsonrpc.work import Step


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
