"""State tries, built from the stored head and updated block by block."""

from collections.abc import Iterator

from wsnode.starknet.block import UnverifiedStarknetBlock, version_numbers
from wsnode.starknet.block_id import MAX_NUMBER
from wsnode.starknet.native import StarknetTries
from wsnode.starknet.storage.tables import (
    CLASS_AT,
    COMPILED_AT,
    NONCE_AT,
    NUMBER_BYTES,
    STORAGE_AT,
    key_number,
)
from wsnode.store.environment import Reader
from wsnode.store.table import Table, scan

# From this version on the root always joins both tries, even while no class is declared.
ALWAYS_JOINED = (0, 14, 0)
ENTRIES_A_CALL = 50_000


class StateTooLargeError(Exception):
    """Error of a state with more values than its tries may have."""

    def __init__(self, most: int) -> None:
        super().__init__(f"the state has more than {most} values")


class StateRoots:
    """Tries of the state after one block, in memory, for computing state roots: about 370 bytes for each
    non-zero slot.
    """

    def __init__(self) -> None:
        self.tries = StarknetTries()

    @classmethod
    def of_head(cls, reader: Reader, last: int | None = None, *, most: int | None = None) -> "StateRoots":
        """Build the tries of the state after the stored head or, with `last`, after that block.

        The values are the last entries of the histories up to that block.

        Raises:
            StateTooLargeError: The histories have more than `most` values.
        """
        roots = cls()
        values = 0
        for table in (STORAGE_AT, CLASS_AT, NONCE_AT, COMPILED_AT):
            packed: list[bytes] = []
            for subject, value in _last_values(reader, table, MAX_NUMBER if last is None else last):
                packed += (subject, _felt(table, value))
                if most is not None and (values := values + 1) > most:
                    raise StateTooLargeError(most)
                if len(packed) >= 2 * ENTRIES_A_CALL:
                    roots._put(table, b"".join(packed))
                    packed.clear()
            roots._put(table, b"".join(packed))
        return roots

    def root(self, *, always_joined: bool = False) -> bytes:
        return self.tries.root(always_joined)

    def after(self, block: UnverifiedStarknetBlock) -> bytes:
        """Apply `block` and return the root of the state after it."""
        self.tries.apply(*block.diff.packed())
        version = version_numbers(block.header.version)
        root = self.tries.root(version is not None and version >= ALWAYS_JOINED)
        if version is None and root != block.new_root:
            # A bare state update lacks a version, so either form of the root is accepted.
            joined = self.tries.root(True)
            return joined if joined == block.new_root else root
        return root

    def _put(self, table: Table, packed: bytes) -> None:
        arguments = [
            packed if table is mine else b"" for mine in (STORAGE_AT, CLASS_AT, NONCE_AT, COMPILED_AT)
        ]
        self.tries.apply(*arguments)


def _last_values(reader: Reader, table: Table, last: int) -> Iterator[tuple[bytes, bytes]]:
    subject, value = b"", b""
    for key, latest in scan(reader, table, b""):
        if key_number(key) > last:
            continue
        if subject and key[:-NUMBER_BYTES] != subject:
            yield subject, value
        subject, value = key[:-NUMBER_BYTES], latest
    if subject:
        yield subject, value


def _felt(table: Table, value: bytes) -> bytes:
    return value[:32] if table is CLASS_AT else value.rjust(32, b"\x00")
