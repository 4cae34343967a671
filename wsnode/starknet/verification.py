"""Rules of a block after the head: links, block hash, commitments, deployments, state root."""

from collections.abc import Callable
from typing import Final

import msgspec

from wsnode.starknet.block import (
    StarknetHeader,
    UnverifiedStarknetBlock,
    VerifiedStarknetBlock,
    version_numbers,
)
from wsnode.starknet.body import stored_body
from wsnode.starknet.diff_json import flat_diff, nested_diff
from wsnode.starknet.errors import InvalidStarknetBlockError
from wsnode.starknet.felt import ZERO, felt_text
from wsnode.starknet.native import (
    RefusedBlockError,
    StarknetBlockProof,
    starknet_diff_commitment,
    verify_starknet_block,
)
from wsnode.starknet.roots import StateRoots

# Earlier versions had another commitment to the diff, which some signatures cover.
COMMITMENT_VERSION = (0, 13, 2)

MAINNET: Final = "SN_MAIN"
FIRST_PEDERSEN: Final = 833
"""First block of the main network whose hash covers the sequencer; on other networks it is block 0."""

Head = tuple[int, bytes, bytes]
"""Number, hash and state root of the block to follow."""


def verify(
    block: UnverifiedStarknetBlock,
    head: Head | None,
    roots: StateRoots | None,
    is_deployed: Callable[[bytes], bool],
    chain_id: str | None = None,
) -> VerifiedStarknetBlock:
    """Check `block` against all rules, and return it; without a head it is the first stored block.

    With `chain_id` a block with transactions and receipts is verified against its own hash. State roots are
    recomputed with `roots`; `is_deployed` returns True if a contract already exists.

    Raises:
        InvalidStarknetBlockError: The block violates a rule.
    """
    if head is not None:
        _check_links(block, head)
    elif block.number == 0:
        _check(block, "parent_hash", felt_text(ZERO), felt_text(block.header.parent_hash or ZERO))
        _check(block, "old_root", felt_text(ZERO), felt_text(block.old_root))
    if block.header.root is not None:
        _check(block, "new_root", felt_text(block.header.root), felt_text(block.new_root))
    _check_commitment(block)
    proof = _proof(block, chain_id)
    for address, _ in block.diff.deployed:
        if is_deployed(address):
            _check(block, "deployed_contracts", f"{felt_text(address)} to be new", "a second deployment")
    if roots is not None:
        _check(block, "state_root", felt_text(block.new_root), felt_text(roots.after(block)))
    return VerifiedStarknetBlock(
        number=block.number,
        header=block.header if proof is None else _with_commitments(block.header, proof),
        old_root=block.old_root,
        new_root=block.new_root,
        diff=block.diff,
        body=None if proof is None else _stored_body(block, proof),
    )


def _check_links(block: UnverifiedStarknetBlock, head: Head) -> None:
    number, block_hash, root = head
    _check(block, "number", str(number + 1), str(block.number))
    # A state update without its block does not name its parent; its old root links it nevertheless.
    if block.header.parent_hash is not None:
        _check(block, "parent_hash", felt_text(block_hash), felt_text(block.header.parent_hash))
    _check(block, "old_root", felt_text(root), felt_text(block.old_root))


def is_provable(block: UnverifiedStarknetBlock, chain_id: str | None) -> bool:
    """Return True if the block's hash can be recomputed from the members that its source sent.

    On the main network it cannot for some blocks before version 0.9, without version and sequencer.
    """
    if block.body is None or chain_id is None:
        return False
    if chain_id == MAINNET and block.number < FIRST_PEDERSEN:
        return True
    return bool(block.header.version) and "sequencer_address" in block.header.more


def _proof(block: UnverifiedStarknetBlock, chain_id: str | None) -> StarknetBlockProof | None:
    """Return the values proved by the block's hash, or None if the hash cannot be recomputed."""
    if block.body is None or chain_id is None or not is_provable(block, chain_id):
        return None
    update = {
        "block_hash": felt_text(block.hash),
        "old_root": felt_text(block.old_root),
        "new_root": felt_text(block.new_root),
        "state_diff": nested_diff(flat_diff(block.diff)),
    }
    try:
        proof = verify_starknet_block(block.body, msgspec.json.encode(update), chain_id)
    except RefusedBlockError as error:
        raise InvalidStarknetBlockError(
            block.number, block.hash, error.member, error.expected, error.actual
        ) from None
    _check(block, "block_hash", felt_text(block.hash), felt_text(proof.hash))
    _check(block, "block_number", str(block.number), str(proof.number))
    return proof


def _stored_body(block: UnverifiedStarknetBlock, proof: StarknetBlockProof) -> bytes | None:
    try:
        return block.body and stored_body(block.body, proof)
    except ValueError as error:
        raise InvalidStarknetBlockError(
            block.number,
            block.hash,
            "transactions",
            "known types and versions, each with its members",
            str(error),
        ) from None


def _with_commitments(header: StarknetHeader, proof: StarknetBlockProof) -> StarknetHeader:
    """Return the header with all commitments and counts of the proof, in place of the source's."""
    counts = {"transaction_count": proof.transaction_count, "event_count": proof.event_count}
    commitments = {
        "transaction_commitment": proof.transaction_commitment,
        "event_commitment": proof.event_commitment,
        "receipt_commitment": proof.receipt_commitment,
        "state_diff_commitment": proof.state_diff_commitment,
    }
    # Nodes answer zero for a commitment that a block's version does not have.
    told = {name: felt_text(felt or ZERO) for name, felt in commitments.items()}
    counts["state_diff_length"] = proof.state_diff_length or 0
    return msgspec.structs.replace(header, more=header.more | told | counts)


def _check_commitment(block: UnverifiedStarknetBlock) -> None:
    version = version_numbers(block.header.version)
    if block.header.commitment is None or version is None or version < COMMITMENT_VERSION:
        return
    commitment = starknet_diff_commitment(*block.diff.packed(), b"".join(block.diff.deprecated))
    _check(block, "state_diff_commitment", felt_text(block.header.commitment), felt_text(commitment))


def _check(block: UnverifiedStarknetBlock, rule: str, expected: str, actual: str) -> None:
    if expected != actual:
        raise InvalidStarknetBlockError(block.number, block.hash, rule, expected, actual)
