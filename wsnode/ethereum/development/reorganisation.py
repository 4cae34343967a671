"""The last blocks replaced by others, as a reorganisation does it, to see what clients make of that."""

from collections.abc import Callable, Sequence
from itertools import count

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.rows import Header, header_fields
from wsnode.ethereum.development.builder import BlockBuilder
from wsnode.ethereum.development.control import ControlError, Placed, Reorganisation
from wsnode.ethereum.head import Head, HeadChange
from wsnode.ethereum.primitives.values import Address

# A block of the new branch must differ from the one that it replaces, even with equal transactions.
_SALTS = count(1)


def check_branch(head: int, depth: int, transactions: Sequence[Placed]) -> None:
    """Check that the last `depth` blocks can be replaced by blocks with these transactions.

    Raises:
        ControlError: They cannot; the message is anvil's.
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
    transactions: Sequence[Placed],
    fee_recipient: Address,
    gas_limit_after: Callable[[Header], int],
) -> Reorganisation:
    """Replace the last `depth` blocks by as many with equal timestamps and the given transactions."""
    root = chain.head.number - depth
    times = [_time_of(chain, number) for number in range(root + 1, root + depth + 1)]
    removed = builder.unwind(root)
    ancestor = chain.head
    added: list[Head] = []
    refused: list[tuple[int, str]] = []
    for place, timestamp in enumerate(times):
        chosen = [index for index, placed in enumerate(transactions) if placed.block == place]
        built = builder.append(
            [transactions[index].encoded for index in chosen],
            senders=[transactions[index].sender for index in chosen],
            timestamp=timestamp,
            fee_recipient=fee_recipient,
            gas_limit=gas_limit_after(builder.tip),
            salt=next(_SALTS).to_bytes(8, "big"),
        )
        added.append(built.head)
        refused += [(chosen[index], reason) for index, reason in built.refused]
    return Reorganisation(ancestor, HeadChange(tuple(removed), tuple(added)), refused)


def _time_of(chain: Chain, number: int) -> int:
    with chain.snapshot() as snapshot:
        row = snapshot.header(number)
    assert row is not None, "a block up to the head is stored"
    return header_fields(row).timestamp
