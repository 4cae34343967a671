"""Records of a chain that nobody executes."""

from collections.abc import Sequence

from wsnode.cluster.journal import Lease
from wsnode.cluster.records import BlockRecord, ChainState, Change, Record, RecordId
from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import BlockNumber, Hash32

GENESIS = Hash32(b"g" * 32)


def head(number: int, branch: int = 0) -> Head:
    """Return a block of a branch."""
    return Head(BlockNumber(number), Hash32(bytes([branch]) * 24 + number.to_bytes(8, "big")))


def standing(number: int) -> ChainState:
    """Return what a chain is after a block."""
    return ChainState(head(number), Hash32(b"r" * 32), 1337, safe=head(0))


def record(lease: Lease, number: int, previous: Record | None, change: Change | None = None) -> Record:
    """Return the record of block `number` after another record, the first one of its epoch or the next."""
    is_first = previous is None or previous.id.epoch != lease.epoch
    sequence = 1 if previous is None or is_first else previous.id.sequence + 1
    return Record(
        GENESIS,
        RecordId(lease.epoch, sequence),
        None if previous is None else previous.id,
        standing(number - 1) if previous is None else previous.after,
        standing(number),
        change or BlockRecord(number.to_bytes(8, "big")),
    )


def records(lease: Lease, numbers: Sequence[int], previous: Record | None = None) -> list[Record]:
    """Return records of blocks, one after another."""
    made: list[Record] = []
    for number in numbers:
        previous = record(lease, number, previous)
        made.append(previous)
    return made
