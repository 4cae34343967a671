"""Logs of a block beside the canonical chain: not indexed, so each is compared."""

from wsnode.ethereum.codec.rendering import render_each_log
from wsnode.ethereum.codec.rows import log_values
from wsnode.ethereum.logs.filter import LogFilter
from wsnode.ethereum.snapshot import Snapshot
from wsnode.jsonrpc.errors import server_error


def logs_of_side_block(view: Snapshot, block_hash: bytes, wanted: LogFilter) -> bytes:
    """Return the matching logs of a known side block.

    Raises:
        RpcError: It never was canonical, so it has not been executed.
    """
    found, receipts = view.block_rows(block_hash), view.side_receipts(block_hash)
    if found is None or receipts is None:
        raise server_error("hash is not currently canonical")
    indices = [index for index, log in enumerate(log_values(receipts)) if wanted.matches(log)]
    return b"[%b]" % b",".join(render_each_log(*found, receipts, indices))
