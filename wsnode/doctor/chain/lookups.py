"""Check of look-ups of blocks, transactions and logs, of totals and of the log index, against the blocks.

Counting shows that a table has no other rows: each block's entries are looked up, and the table must have as
many. Only if it has more is it searched for rows that lead nowhere.

The rows of the log index for 65,536 logs are put together from the receipts and compared with the stored
ones: memory is bounded by these rows, some 80 MiB at most.
"""

from array import array
from collections.abc import Callable
from typing import Final

from pyroaring import BitMap

from wsnode.doctor.chain.rows import StoredBlock, search_others
from wsnode.doctor.faults import FaultCollector
from wsnode.ethereum.codec.chain_tables import ITSELF, locate_logs
from wsnode.ethereum.codec.rows import (
    CorruptRowError,
    header_fields,
    log_count,
    log_entries,
    transaction_hashes,
)
from wsnode.ethereum.storage import canonical
from wsnode.ethereum.storage.canonical import ChainTotals
from wsnode.ethereum.storage.log_entries import CHUNK_BITS, CHUNK_KEY, decode_positions
from wsnode.ethereum.storage.tables import (
    BODIES,
    HEADERS,
    LOG_BLOCKS,
    LOG_INDEX,
    NUMBERS,
    RECEIPTS,
    TOTALS,
    TRANSACTIONS,
    number_from,
    number_key,
)
from wsnode.store.environment import DamagedRowError, Reader
from wsnode.store.table import Table

PLACE: Final = 8
"""Bytes of a place, block (5) and index (3), and of a key of `transactions`."""
_NUMBER: Final = 5
_HASH: Final = 32
KINDS: Final = ("address", "first topic", "second topic", "third topic", "fourth topic", "number of topics")
_CHUNK: Final = 1 << CHUNK_BITS


class LookupCheck:
    """Check of `wsnode doctor` that the look-up tables (numbers by hash, places of transactions, totals of
    logs) have the right entry for each block, and no others.
    """

    def __init__(self, reader: Reader, findings: FaultCollector, first: int, last: int) -> None:
        self._reader = reader
        self._findings = findings
        self._first, self._last = first, last
        self._found = dict.fromkeys((NUMBERS, TRANSACTIONS, LOG_BLOCKS, TOTALS), 0)
        self.through: ChainTotals | None = ChainTotals(0, 0)
        """Totals of logs and difficulty through the last checked block, None where they are unknown."""
        if first > 0:
            self.through = self._total(first - 1)
            self._found[TOTALS] += self.through is not None

    def check(self, block: StoredBlock) -> int | None:
        """Check the look-up entries of the next block; return the number in the chain of its first log.

        Returns None if the totals of the block before are unknown.
        """
        before = self.through
        self._check_totals(block, before)
        if block.named is not None and block.computed in (None, block.named):
            self._check_number(block, block.named)
        elif block.named is not None:
            # The header is damaged, so its hash is unknown, and its entry can only be counted.
            self._found[NUMBERS] += 1
        if block.body is not None:
            self._check_transactions(block, block.body)
        return None if before is None else before.logs

    def finish(self) -> None:
        """Search for entries that belong to no block."""
        for table in (HEADERS, BODIES, RECEIPTS):
            self._search(table, self._last - self._first + 1, self._is_in_range)
        self._search(TOTALS, self._found[TOTALS], lambda key, _: self._is_in_range(key, b"", -1))
        self._search(NUMBERS, self._found[NUMBERS], self._is_number)
        self._search(LOG_BLOCKS, self._found[LOG_BLOCKS], self._is_log_block)
        self._search(TRANSACTIONS, self._found[TRANSACTIONS], self._is_place)

    def _total(self, number: int) -> ChainTotals | None:
        try:
            return canonical.totals(self._reader, number)
        except (CorruptRowError, DamagedRowError):
            return None

    def _check_totals(self, block: StoredBlock, before: ChainTotals | None) -> None:
        stored = self._total(block.number)
        self._found[TOTALS] += stored is not None
        logs = _log_count(block.receipts)
        expected = None
        if before is not None and logs is not None and block.named is not None:
            expected = ChainTotals(before.logs + logs, before.difficulty + block.difficulty)
        if stored is None or (expected is not None and stored != expected):
            text = "there is no row that can be read" if stored is None else f"{stored}, not {expected}"
            self._findings.fault("totals", text, block.number, block.named)
        self.through = expected or stored
        if expected is not None and before is not None and logs:
            self._check_log_block(block, before.logs, expected.logs)

    def _check_log_block(self, block: StoredBlock, begin: int, end: int) -> None:
        row = self._reader.get(LOG_BLOCKS, number_key(end))
        self._found[LOG_BLOCKS] += row is not None
        if row != number_key(block.number) + number_key(begin):
            text = f"its logs {begin} to {end - 1} are " + (
                "not listed" if row is None else "those of another"
            )
            self._findings.fault("log_blocks", text, block.number, block.named)

    def _check_number(self, block: StoredBlock, block_hash: bytes) -> None:
        row = self._reader.get(NUMBERS, block_hash)
        self._found[NUMBERS] += row is not None
        if row != number_key(block.number):
            text = "its hash is not listed" if row is None else f"its hash leads to {row.hex()}"
            self._findings.fault("numbers", text, block.number, block_hash)

    def _check_transactions(self, block: StoredBlock, body: bytes) -> None:
        try:
            hashes = transaction_hashes(body)
        except CorruptRowError:
            return
        number = block.number.to_bytes(_NUMBER, "big")
        for index in range(len(hashes) // _HASH):
            key = hashes[_HASH * index : _HASH * index + PLACE]
            place = number + index.to_bytes(PLACE - _NUMBER, "big")
            row = self._reader.get(TRANSACTIONS, key) or b""
            # Several transactions may share a row; only the first place in the row counts it.
            self._found[TRANSACTIONS] += row[:PLACE] == place
            if row != place and (place not in _places(row) or not self._is_place(key, row)):
                transaction = hashes[_HASH * index : _HASH * (index + 1)].hex()
                text = f"transaction {index} 0x{transaction} is not listed, or in a row with others"
                self._findings.fault("transactions", text, block.number, block.named)

    def _search(self, table: Table, expected: int, belongs: Callable[[bytes, bytes], bool]) -> None:
        search_others(self._reader, table, expected, self._findings, belongs)

    def _is_in_range(self, key: bytes, _value: bytes, below: int = 0) -> bool:
        return len(key) == len(number_key(0)) and self._first + below <= number_from(key) <= self._last

    def _is_number(self, key: bytes, value: bytes) -> bool:
        row = self._reader.get(HEADERS, value)
        try:
            return row is not None and header_fields(row).hash == key
        except CorruptRowError:
            return True

    def _is_log_block(self, key: bytes, value: bytes) -> bool:
        try:
            through = canonical.totals(self._reader, number_from(value[:8]))
        except (CorruptRowError, DamagedRowError):
            return False
        return number_key(through.logs) == key

    def _is_place(self, key: bytes, row: bytes) -> bool:
        places = _places(row)
        return bool(places) and all(self._has_transaction(place, key) for place in places)

    def _has_transaction(self, place: bytes, key: bytes) -> bool:
        body = self._reader.get(BODIES, number_key(int.from_bytes(place[:_NUMBER], "big")))
        if body is None:
            return False
        index = int.from_bytes(place[_NUMBER:], "big")
        try:
            return transaction_hashes(body)[_HASH * index : _HASH * index + PLACE] == key
        except CorruptRowError:
            return True


def _places(row: bytes) -> list[bytes]:
    return [row[start : start + PLACE] for start in range(0, len(row), PLACE)]


def _log_count(receipts: bytes | None) -> int | None:
    try:
        return None if receipts is None else log_count(receipts)
    except CorruptRowError:
        return None


class LogIndexCheck:
    """Check of `wsnode doctor` that the log index agrees with the receipts; it gets the blocks in order."""

    def __init__(self, reader: Reader, findings: FaultCollector) -> None:
        self._reader = reader
        self._findings = findings
        self._rows: dict[bytes, array[int]] = {}
        self._first: int | None = None
        self._chunk = 0
        self._next = 0
        self._found = 0
        self._is_interrupted = False

    def add(self, block: StoredBlock, first_log: int | None) -> None:
        """Take the logs of a block; `first_log` is its first log's number in the chain, None if unknown."""
        if first_log is None or block.receipts is None:
            self._is_interrupted = True
            return
        try:
            entries = log_entries([block.receipts], first_log)
        except CorruptRowError:
            self._is_interrupted = True
            return
        if self._first is None:
            self._first = first_log
        for key, positions in sorted(entries, key=_chunk_of):
            if (chunk := _chunk_of((key, b""))) != self._chunk:
                self._compare()
                self._chunk = chunk
            self._rows.setdefault(key, array("I")).frombytes(positions)

    def finish(self) -> None:
        """Compare the last rows, and search for rows that list no log."""
        self._compare()
        if self._is_interrupted:
            self._findings.note("rows of log_index were not counted, because receipts are missing")
        else:
            lists = self._lists_a_log
            what = "lists no log that is there"
            search_others(self._reader, LOG_INDEX, self._found, self._findings, lists, what)

    def _compare(self) -> None:
        for key, positions in self._rows.items():
            row = self._reader.get(LOG_INDEX, key)
            if row is None:
                self._fault(key, BitMap(positions), "not listed")
                continue
            self._found += 1
            try:
                listed = decode_positions(row)
            except (ValueError, SystemError):
                self._fault(key, BitMap(positions), "in a row that cannot be read")
                continue
            self._hold(key, listed, BitMap(positions))
        self._rows.clear()

    def _hold(self, key: bytes, listed: BitMap, logs: BitMap) -> None:
        lowest = (self._first or 0) - (self._chunk << CHUNK_BITS)
        if lowest > 0:
            # A row keeps the logs of pruned blocks until the last log of the row is pruned, so they are no
            # fault.
            listed.remove_range(0, min(lowest, _CHUNK))
        if not self._is_interrupted and (others := listed - logs):
            self._fault(key, others, "listed and not there")
        if missing := logs - listed:
            self._fault(key, missing, "not listed")

    def _fault(self, key: bytes, positions: BitMap, what: str) -> None:
        log = (self._chunk << CHUNK_BITS) + positions.min()
        value = key[1:-CHUNK_KEY].hex()
        text = f"{len(positions)} logs of {KINDS[key[0]]} 0x{value} are {what}, the first has number {log}"
        self._findings.fault("log_index", text, self._block_of(log))

    def _block_of(self, log: int) -> int | None:
        try:
            ((number, _),), _ = locate_logs(self._reader, log, ITSELF, 0, 1)
        except (CorruptRowError, DamagedRowError, ValueError):
            return None
        return number

    def _lists_a_log(self, key: bytes, row: bytes) -> bool:
        try:
            log = (_chunk_of((key, b"")) << CHUNK_BITS) + decode_positions(row).max()
            ((number, indices),), _ = locate_logs(self._reader, log, ITSELF, 0, 1)
            return self._has(number, indices[0], log, key)
        except (CorruptRowError, DamagedRowError, ValueError, SystemError):
            return False

    def _has(self, number: int, index: int, log: int, key: bytes) -> bool:
        receipts = self._reader.get(RECEIPTS, number_key(number))
        return receipts is not None and key in dict(log_entries([receipts], log - index))


def _chunk_of(entry: tuple[bytes, bytes]) -> int:
    return int.from_bytes(entry[0][-CHUNK_KEY:], "big")
