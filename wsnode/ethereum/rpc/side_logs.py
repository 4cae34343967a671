"""Logs of a block beside the canonical chain: not indexed, so looked at one by one."""

from typing import Any

import msgspec

from wsnode.ethereum.codec.rendering import render_logs
from wsnode.ethereum.log_index import LogCriteria
from wsnode.ethereum.rpc.lookup import hashed_rows
from wsnode.ethereum.snapshot import Snapshot
from wsnode.jsonrpc.errors import server_error


def logs_of_side_block(view: Snapshot, block_hash: bytes, criteria: LogCriteria) -> bytes:
    """Return the matching logs of a known side block.

    Raises:
        RpcError: It never was canonical, so it has not been executed.
    """
    found, receipts = hashed_rows(view, block_hash), view.side_receipts(block_hash)
    if found is None or receipts is None:
        raise server_error("hash is not currently canonical")
    logs = msgspec.json.decode(b"[%b]" % render_logs([(*found, receipts, None)]))
    return msgspec.json.encode([log for log in logs if matches(log, criteria)])


def matches(log: dict[str, Any], criteria: LogCriteria) -> bool:
    """Tell whether a rendered log meets the criteria."""
    topics = [bytes.fromhex(topic[2:]) for topic in log["topics"]]
    if criteria.addresses and bytes.fromhex(log["address"][2:]) not in criteria.addresses:
        return False
    if len(topics) < len(criteria.topics):
        return False
    return all(
        not alternatives or topic in alternatives
        for topic, alternatives in zip(topics, criteria.topics, strict=False)
    )
