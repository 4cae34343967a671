"""What a copy holds of a chain, as its manifest says it."""

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import hexadecimal
from wsnode.snapshots.manifest import CopiedAlt, CopiedChain


def chain_contents(chain: Chain, head: Head, state_root: bytes) -> CopiedChain:
    """Return what identifies a chain that ends at a head."""
    return CopiedChain(
        genesis=hexadecimal(chain.spec.genesis_hash),
        chain_id=chain.spec.chain_id,
        number=head.number,
        hash=hexadecimal(head.hash),
        state_root=hexadecimal(state_root),
        window=chain.window,
    )


def alt_contents(number: int | None, block_hash: bytes | None) -> CopiedAlt:
    """Return what identifies an alt chain that ends at a block, or has none."""
    return CopiedAlt(number, None if block_hash is None else hexadecimal(block_hash))
