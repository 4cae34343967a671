"""Methods that return the head, the chain's name and the specification's version."""

from typing import Any

from wsnode.starknet.felt import felt_text
from wsnode.starknet.rpc.errors import chain_id_unknown, no_blocks
from wsnode.starknet.snapshot import StarknetSnapshot


def block_number(snapshot: StarknetSnapshot) -> int:
    """Return the number of the head."""
    if (head := snapshot.head) is None:
        raise no_blocks()
    return head


def block_hash_and_number(snapshot: StarknetSnapshot) -> dict[str, Any]:
    """Return `{block_hash, block_number}` of the head."""
    number = block_number(snapshot)
    if (block := snapshot.block(number)) is None:
        raise no_blocks()
    return {"block_hash": felt_text(block.hash), "block_number": number}


def chain_id(snapshot: StarknetSnapshot) -> str:
    """Return the chain's name as a felt: SN_MAIN is 0x534e5f4d41494e."""
    if (name := snapshot.chain_id) is None:
        raise chain_id_unknown()
    return "0x" + name.encode().hex()


def spec_version(snapshot: StarknetSnapshot) -> str:
    """Return the version of starknet-specs that the results follow."""
    return snapshot.spec_version


def syncing(_snapshot: StarknetSnapshot) -> bool:
    """Return False: the chain holds imported blocks and does not sync."""
    return False
