"""The rules for a block that follows the head: links, commitments, deployments, state root."""

from collections.abc import Callable

from wsnode.starknet.block import UnverifiedBlock, VerifiedBlock, version_numbers
from wsnode.starknet.errors import InvalidBlockError
from wsnode.starknet.felt import ZERO, felt_text
from wsnode.starknet.native import starknet_diff_commitment
from wsnode.starknet.roots import StateRoots

# Earlier versions had another commitment to the diff, which some signatures cover.
COMMITMENT_VERSION = (0, 13, 2)

Head = tuple[int, bytes, bytes]
"""Number, hash and state root of the block to follow."""


def verify(
    block: UnverifiedBlock,
    head: Head | None,
    roots: StateRoots | None,
    is_deployed: Callable[[bytes], bool],
) -> VerifiedBlock:
    """Return `block` after all checks; without a head it is the first of its history.

    Raises:
        InvalidBlockError: It violates a rule.
    """
    if head is not None:
        _check_links(block, head)
    elif block.number == 0:
        _check(block, "parent_hash", felt_text(ZERO), felt_text(block.header.parent_hash or ZERO))
        _check(block, "old_root", felt_text(ZERO), felt_text(block.old_root))
    if block.header.root is not None:
        _check(block, "new_root", felt_text(block.header.root), felt_text(block.new_root))
    _check_commitment(block)
    for address, _ in block.diff.deployed:
        if is_deployed(address):
            _check(block, "deployed_contracts", f"{felt_text(address)} to be new", "a second deployment")
    if roots is not None:
        _check(block, "state_root", felt_text(block.new_root), felt_text(roots.after(block)))
    return VerifiedBlock(
        number=block.number,
        header=block.header,
        old_root=block.old_root,
        new_root=block.new_root,
        diff=block.diff,
    )


def _check_links(block: UnverifiedBlock, head: Head) -> None:
    number, block_hash, root = head
    _check(block, "number", str(number + 1), str(block.number))
    # A bare state update does not name its parent; the roots link it nevertheless.
    if block.header.parent_hash is not None:
        _check(block, "parent_hash", felt_text(block_hash), felt_text(block.header.parent_hash))
    _check(block, "old_root", felt_text(root), felt_text(block.old_root))


def _check_commitment(block: UnverifiedBlock) -> None:
    version = version_numbers(block.header.version)
    if block.header.commitment is None or version is None or version < COMMITMENT_VERSION:
        return
    commitment = starknet_diff_commitment(*block.diff.packed(), b"".join(block.diff.deprecated))
    _check(block, "state_diff_commitment", felt_text(block.header.commitment), felt_text(commitment))


def _check(block: UnverifiedBlock, rule: str, expected: str, actual: str) -> None:
    if expected != actual:
        raise InvalidBlockError(block.number, block.hash, rule, expected, actual)
