"""Ways to name a block in a request."""

import enum

import msgspec

from wsnode.ethereum.primitives.values import BlockNumber, Hash32


class BlockTag(enum.Enum):
    """A block named by its place; the value is the word on the wire."""

    LATEST = "latest"
    EARLIEST = "earliest"
    PENDING = "pending"
    SAFE = "safe"
    FINALIZED = "finalized"


class BlockByHash(msgspec.Struct, frozen=True):
    """A block named by its hash, which may have to lie on the canonical chain."""

    hash: Hash32
    require_canonical: bool = False


BlockReference = BlockNumber | BlockTag | BlockByHash
