"""The block to come: empty, on top of the head, built by the engine as blocks are."""

import time
from collections.abc import Callable
from typing import Final

from wsnode.ethereum.codec.blocks import VerifiedBlock
from wsnode.ethereum.codec.rows import Header, header_fields
from wsnode.ethereum.rpc.lookup import rows
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import BlockAttributes
from wsnode.jsonrpc.errors import server_error

FRESH_SECONDS: Final = 1.0
_NO_BLOOM: Final = b'"logsBloom":"0x%b"' % (b"0" * 512)
_ZERO_ADDRESS: Final = bytes(20)
_ZERO_HASH: Final = bytes(32)


class PendingBlock:
    """Builds the block after a head once, and again when the head changes or a second has passed."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._parent = b""
        self._built_at = 0.0
        self._block: VerifiedBlock | None = None

    def after(self, view: Snapshot) -> VerifiedBlock:
        """Return the block after the view's head.

        Raises:
            RpcError: There is none, as `continues` says.
        """
        now = self._clock()
        if self._block is None or self._parent != view.head_hash or now - self._built_at >= FRESH_SECONDS:
            self._block = _build(view, int(now))
            self._parent, self._built_at = view.head_hash, now
        return self._block


def _build(view: Snapshot, now: int) -> VerifiedBlock:
    parent = rows(view, view.head)
    assert parent is not None, "the head is stored"
    header = header_fields(parent[0])
    if not continues(view, header):
        raise server_error("pending block is not available")
    attributes = BlockAttributes(
        timestamp=max(now, header.timestamp + 1),
        fee_recipient=_ZERO_ADDRESS,
        prev_randao=_ZERO_HASH,
        gas_limit=header.gas_limit,
        parent_beacon_block_root=_ZERO_HASH,
    )
    return view.state.build_block(parent, attributes, [])[0]


def continues(view: Snapshot, head: Header) -> bool:
    """Tell whether there is a block to come: none on proof of work, nor while the state has moved on."""
    return head.difficulty == 0 and view.state.head[0] == view.head


def in_plain_form(text: bytes) -> bytes:
    """Return the rendered block to come with null where execution-apis has it: no miner, but a bloom."""
    miner = b'"miner":"0x%b"' % (b"0" * 40)
    return text.replace(b'"logsBloom":null', _NO_BLOOM, 1).replace(miner, b'"miner":null', 1)
