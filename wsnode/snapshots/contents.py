"""Identity of a copy's chains, as its manifest has it."""

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import hexadecimal
from wsnode.snapshots.manifest import ManifestChain, ManifestStarknet


def chain_contents(chain: Chain, head: Head, state_root: bytes) -> ManifestChain:
    """Return the manifest's members for a chain that ends at a head."""
    return ManifestChain(
        genesis=hexadecimal(chain.spec.genesis_hash),
        chain_id=chain.spec.chain_id,
        number=head.number,
        hash=hexadecimal(head.hash),
        state_root=hexadecimal(state_root),
        window=chain.window,
    )


def starknet_contents(number: int | None, block_hash: bytes | None) -> ManifestStarknet:
    """Return the manifest's members for a Starknet chain that ends at a block; both None without blocks."""
    return ManifestStarknet(number, None if block_hash is None else hexadecimal(block_hash))
