"""Check of the log index against the receipts: it lists every log, and no other.

The rows of 65,536 logs are put together from the receipts and compared with the stored ones: memory is
bounded by these rows, some 80 MiB at most.
"""

from array import array
from typing import Final

from pyroaring import BitMap

from wsnode.doctor.chain.rows import StoredBlock, search_others
from wsnode.doctor.faults import FaultCollector
from wsnode.ethereum.codec.chain_tables import ITSELF, locate_logs
from wsnode.ethereum.codec.rows import CorruptRowError, log_entries
from wsnode.ethereum.storage.log_entries import CHUNK_BITS, CHUNK_KEY, decode_positions
from wsnode.ethereum.storage.tables import LOG_INDEX, RECEIPTS, number_key
from wsnode.store.environment import Reader
from wsnode.store.errors import DamagedRowError

KINDS: Final = ("address", "first topic", "second topic", "third topic", "fourth topic", "number of topics")
_CHUNK: Final = 1 << CHUNK_BITS


class LogIndexCheck:
    """Check of the index, which takes the logs of each block in order."""

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
        """Take the logs of a block; `first_log` is the number of its first log in the chain, None if
        unknown.
        """
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
            # What is left of pruned blocks stays until the last log of its row is gone.
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
