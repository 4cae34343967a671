"""Replacement of the last blocks, as by a reorganisation, to test clients."""

from collections.abc import Callable, Mapping, Sequence
from itertools import count

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.rows import Header, header_fields
from wsnode.ethereum.development.builder import BlockBuilder
from wsnode.ethereum.development.control import ControlError, ReorganisationRequest, ScheduledTransaction
from wsnode.ethereum.head import Head, HeadChange
from wsnode.ethereum.primitives.values import Address
from wsnode.jsonrpc.errors import RpcError

# A block of the new branch must differ from the one that it replaces, even with equal transactions.
_SALTS = count(1)


def check_branch(head: int, depth: int, transactions: Sequence[ScheduledTransaction]) -> None:
    """Check that the last `depth` blocks can be replaced by blocks with these transactions.

    Raises:
        ControlError: The chain is too short, or an index is outside of the branch; the message is anvil's.
    """
    if depth > head:
        raise ControlError(
            f"Reorg depth must not exceed current chain height: current height {head}, depth {depth}"
        )
    for placed in transactions:
        if placed.block >= depth:
            raise ControlError(
                "Block number for reorg tx will exceed the reorged chain height. "
                f"Block number {placed.block} must not exceed (depth-1) {depth - 1}"
            )


def replace_blocks(
    chain: Chain,
    builder: BlockBuilder,
    depth: int,
    transactions: Sequence[ScheduledTransaction],
    fee_recipient: Address,
    gas_limit_after: Callable[[Header], int],
) -> ReorganisationRequest:
    """Replace the last `depth` blocks by new ones with equal timestamps, in one transaction, and return the
    change.

    Members missing in a transaction follow from its new block, since fees may have changed since the head.
    """
    root = chain.head.number - depth
    times = [_time_of(chain, number) for number in range(root + 1, root + depth + 1)]
    added: list[Head] = []
    refused: list[tuple[int, str]] = []
    if not times:
        return ReorganisationRequest(chain.head, HeadChange((), ()), refused)
    with builder.replacing(root) as removed:
        ancestor = builder.tree.head
        for place, timestamp in enumerate(times):
            chosen = {index: placed for index, placed in enumerate(transactions) if placed.block == place}
            encoded, incomplete = _encoded(builder, chosen)
            senders = [chosen[index].sender if chosen[index].is_impersonated else None for index in encoded]
            built = builder.append(
                list(encoded.values()),
                senders=senders,
                timestamp=timestamp,
                fee_recipient=fee_recipient,
                gas_limit=gas_limit_after(builder.tip),
                salt=next(_SALTS).to_bytes(8, "big"),
            )
            added.append(built.head)
            indices = list(encoded)
            refused += sorted(incomplete + [(indices[index], reason) for index, reason in built.refused])
    return ReorganisationRequest(ancestor, HeadChange(tuple(removed), tuple(added)), refused)


def _encoded(
    builder: BlockBuilder, transactions: Mapping[int, ScheduledTransaction]
) -> tuple[dict[int, bytes], list[tuple[int, str]]]:
    """Return the bytes of the next block's transactions by index, and index and reason of each incomplete
    one.
    """
    base_fee, nonces = builder.base_fee(), dict[Address, int]()
    encoded: dict[int, bytes] = {}
    incomplete: list[tuple[int, str]] = []
    for index, placed in transactions.items():
        try:
            if placed.sender not in nonces:
                nonces[placed.sender] = builder.nonce(placed.sender)
            following = nonces[placed.sender]
            nonce = following if placed.nonce is None else placed.nonce
            encoded[index] = placed.encode(nonce, base_fee)
        except RpcError as error:
            incomplete.append((index, error.message))
        else:
            nonces[placed.sender] = following + (nonce == following)
    return encoded, incomplete


def _time_of(chain: Chain, number: int) -> int:
    with chain.snapshot() as snapshot:
        row = snapshot.header(number)
    assert row is not None, "a block up to the head is stored"
    return header_fields(row).timestamp
