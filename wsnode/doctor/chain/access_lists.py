"""Check of the block access lists, each against the header of its block (EIP-7928)."""

from wsnode.doctor.chain.rows import StoredBlock, search_others
from wsnode.doctor.faults import FaultCollector
from wsnode.ethereum.codec.blocks import keccak256
from wsnode.ethereum.codec.rows import CorruptRowError, header_fields
from wsnode.ethereum.storage.tables import ACCESS_LISTS, number_key
from wsnode.store.environment import Reader


class AccessListCheck:
    """Check of the list of each block whose header commits to one; a light folder may lack some."""

    def __init__(self, reader: Reader, findings: FaultCollector, *, is_light: bool) -> None:
        self._reader = reader
        self._findings = findings
        self._is_light = is_light
        self._keys: set[bytes] = set()

    def check(self, block: StoredBlock) -> None:
        """Compare the list of a block with its header."""
        stated = stated_hash(block)
        if stated is None:
            return
        key = number_key(block.number)
        row = self._reader.get(ACCESS_LISTS, key)
        if row is None:
            if not self._is_light:
                self._findings.fault(ACCESS_LISTS.name, "there is no row", block.number, block.named)
        else:
            self._keys.add(key)
            if keccak256(row) != stated:
                text = "the list is not the one of the header"
                self._findings.fault(ACCESS_LISTS.name, text, block.number, block.named)

    def finish(self) -> None:
        """Report the rows that belong to no block."""
        search_others(
            self._reader, ACCESS_LISTS, len(self._keys), self._findings, lambda key, _row: key in self._keys
        )


def stated_hash(block: StoredBlock) -> bytes | None:
    """Return the hash of the access list in a block's header, None if the header has none or cannot be
    read.
    """
    if block.header is None:
        return None
    try:
        return header_fields(block.header).block_access_list_hash
    except CorruptRowError:
        # Named among the faults of headers.
        return None
