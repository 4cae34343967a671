"""Checks of the rows of a folder's head; they do not agree after a copy beside the writer."""

from pathlib import Path
from typing import Final

from wsnode.ethereum.codec.blocks import block_from_rows, verify_with_receipts
from wsnode.ethereum.codec.headers import block_hash
from wsnode.ethereum.codec.rows import CorruptRowError, block_rlp, header_fields
from wsnode.ethereum.head import Head
from wsnode.ethereum.state import ChainSpec, InvalidBlockError, State, StateError, state_blocks
from wsnode.ethereum.storage import meta
from wsnode.ethereum.storage.errors import CorruptHeadError
from wsnode.ethereum.storage.tables import BODIES, HEADERS, RECEIPTS, number_key
from wsnode.store.environment import Environment, Reader

_TRIES: Final = 10


def require_head_rows(reader: Reader, folder: Path, spec: ChainSpec, *, is_light: bool) -> None:
    """Check that the head's rows exist, and its header, transactions and receipts belong together.

    For a light folder, and for the first block of a chain, only the hash in the header's row is compared:
    such a block need not be verified by its transactions and receipts.

    Raises:
        CorruptHeadError: A row is missing, or two rows disagree.
    """
    head = meta.marked_head(reader, meta.HEAD)
    if head is None:
        raise CorruptHeadError(folder, "the chain has no head")
    try:
        has_header_only = is_light or head.number == spec.first_number
        fault = _rows_fault(reader, spec, head, has_header_only=has_header_only)
    except CorruptRowError as error:
        fault = str(error)
    if fault is not None:
        raise CorruptHeadError(folder, f"block {head.number}: {fault}")


def _rows_fault(reader: Reader, spec: ChainSpec, head: Head, *, has_header_only: bool) -> str | None:
    header, body, receipts = (
        reader.get(table, number_key(head.number)) for table in (HEADERS, BODIES, RECEIPTS)
    )
    if header is None or body is None or receipts is None:
        return "a row is missing"
    if header_fields(header).hash != head.hash:
        return "its header is another block's"
    if has_header_only:
        return None
    if block_hash(block_rlp(header, body)) != head.hash:
        return "its header does not have its hash"
    found = verify_with_receipts(spec, block_from_rows(spec, header, body), receipts)
    return f"{found.rule} is not the header's" if isinstance(found, InvalidBlockError) else None


def require_state(store: Environment, state: State, folder: Path) -> None:
    """Check that the state after the chain's head is stored; another process may write meanwhile.

    Raises:
        CorruptHeadError: The state is missing, or is that of another block.
    """
    for _ in range(_TRIES):
        with store.read() as before:
            fault = _state_fault(before, state)
            with store.read() as after:
                is_same = after.version == before.version
        if fault is None:
            return
        # The state is read in a snapshot of its own, which may be of a later version.
        if is_same:
            raise CorruptHeadError(folder, fault)


def _state_fault(reader: Reader, state: State) -> str | None:
    head, row = meta.marked_head(reader, meta.HEAD), None
    if head is not None:
        row = reader.get(HEADERS, number_key(head.number))
    if head is None or row is None:
        return "the chain has no head"
    try:
        found = state_blocks(state, head.number, 1)
        root = header_fields(row).state_root
    except (StateError, CorruptRowError) as error:
        return str(error)
    if not found or found[0][0] != head.number:
        return f"block {head.number} is the head of the chain, and the state after it is not there"
    _, found_hash, _, found_root = found[0]
    return (
        None
        if (found_hash, found_root) == (head.hash, root)
        else f"the state is not that of block {head.number}"
    )
