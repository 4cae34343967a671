"""Check of the state: its blocks against those of the chain, and the state after its head by itself.

Beside a node that writes, blocks may change during the check: a difference is compared again, in one version
of the store.
"""

from collections.abc import Callable, Iterator
from typing import Final, TypeVar

from wsnode.doctor.faults import FaultCollector
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.rows import CorruptRowError, header_fields
from wsnode.ethereum.state import (
    EngineError,
    State,
    StateError,
    inspect_past,
    inspect_state,
    state_blocks,
)
from wsnode.ethereum.storage import meta
from wsnode.ethereum.storage.tables import HEADERS, STATE_TABLES, number_key
from wsnode.store.environment import Reader

AT_ONCE: Final = 4096
TRIES: Final = 10
NODES: Final = 500_000
"""Maximum number of trie nodes in memory while the state is taken back: some 300 bytes each."""
CHANGED: Final = "some blocks changed while they were looked at"

Found = TypeVar("Found")


def check_state(chain: Chain, first: int, last: int, findings: FaultCollector) -> None:
    """Check the state of a chain whose blocks are `first` to `last`."""
    if chain.is_light:
        findings.note("a light folder has no state of its own: values of it are proved as they are read")
        return
    if any(table.name in findings.counts for table in STATE_TABLES):
        findings.note("the state was not checked further, because of damaged rows")
        return
    _check_blocks(chain, first, last, findings)
    if chain.spec.begins_elsewhere:
        findings.note("the state begins with another chain's: what is known of that is proved as it is read")
        return
    try:
        _, (accounts, slots, nodes, codes) = inspect_state(
            chain.state,
            lambda table, done, total: findings.progress.advanced(f"state: {table}", done, total),
            findings.fault,
        )
    except EngineError as error:
        findings.fault("state", str(error))
        return
    findings.checked.update({"accounts": accounts, "slots": slots, "trie nodes": nodes, "codes": codes})
    if not any(table in findings.counts for table in ("state", *(each.name for each in STATE_TABLES))):
        _check_history(chain.state, first, findings)


def _beside(
    chain: Chain, look: Callable[[], Found], findings: FaultCollector
) -> Iterator[tuple[Found, Reader]]:
    """Yield once the result of `look`, and a reader of the store whose version was unchanged meanwhile."""
    for _ in range(TRIES):
        with chain.store.read() as before:
            found = look()
            with chain.store.read() as after:
                if before.version == after.version:
                    yield found, after
                    return
    findings.note(CHANGED)


def _check_blocks(chain: Chain, first: int, last: int, findings: FaultCollector) -> None:
    number = first
    while number <= last:
        blocks = _readable_blocks(chain.state, number, min(AT_ONCE, last + 1 - number))
        with chain.store.read() as reader:
            for block in blocks:
                if block[0] != number or not _is_of_chain(reader.get(HEADERS, number_key(number)), block):
                    _look_again(chain, number, findings)
                number += 1
        if not blocks:
            _look_again(chain, number, findings)
            number += 1
        findings.progress.advanced("state: hashes", number - first, last + 1 - first)


def _readable_blocks(state: State, number: int, limit: int) -> list[tuple[int, bytes, bytes, bytes]]:
    """Return the state's blocks from `number` on, at most `limit`, before the first unreadable row."""
    try:
        return state_blocks(state, number, limit)
    except StateError:
        return [] if limit == 1 else _readable_blocks(state, number, limit // 2)


def _is_of_chain(header: bytes | None, block: tuple[int, bytes, bytes, bytes]) -> bool:
    if header is None:
        # A missing header is a fault of its own table, reported there.
        return True
    try:
        fields = header_fields(header)
        return (fields.hash, fields.state_root) == (block[1], block[3])
    except CorruptRowError:
        return True


def _look_again(chain: Chain, number: int, findings: FaultCollector) -> None:
    for blocks, reader in _beside(chain, lambda: _readable_blocks(chain.state, number, 1), findings):
        head = meta.marked_head(reader, meta.HEAD)
        header = reader.get(HEADERS, number_key(number))
        if head is None or number > head.number or (blocks and _is_of_chain(header, blocks[0])):
            return
        found = "there is no row that can be read"
        if blocks:
            found = f"hash 0x{blocks[0][1].hex()} and root 0x{blocks[0][3].hex()}"
        findings.fault("hashes", f"{found}, not those of the block", number)


def _check_history(state: State, first: int, findings: FaultCollector) -> None:
    """Take the state back block by block, as far as its bound of memory allows, and check each root."""
    head = state.committed_head[0]
    try:
        reached = inspect_past(
            state,
            first,
            NODES,
            lambda _, done, total: findings.progress.advanced("state: history", done, total),
            findings.fault,
        )
    except EngineError as error:
        findings.fault("changes", str(error))
        return
    findings.checked["earlier states"] += max(0, head - reached)
    if reached > first and "changes" not in findings.counts:
        findings.note(f"states before that of block {reached} are too far back to be put together again")
