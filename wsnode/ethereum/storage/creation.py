"""Creation of a chain's folder, and checks of its contents and its genesis file when it is opened."""

from pathlib import Path
from typing import Any, Final

import msgspec

from wsnode.ethereum.codec.blocks import block_from_rows, verify_with_receipts
from wsnode.ethereum.codec.rlp import block_hash
from wsnode.ethereum.codec.rows import CorruptRowError, block_rlp, header_fields
from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import Hash32
from wsnode.ethereum.state import ChainSpec, InvalidBlockError, State, StateError, state_blocks
from wsnode.ethereum.storage import canonical, meta, window
from wsnode.ethereum.storage.errors import (
    CorruptHeadError,
    NoAllocationError,
    NoChainError,
    OtherConfigurationError,
    OtherGenesisError,
    OtherKindError,
    PassedForkError,
    UnknownSchemaError,
    UnsupportedExecutionError,
)
from wsnode.ethereum.storage.folder import ChainFolder
from wsnode.ethereum.storage.folder_kind import FolderKind
from wsnode.ethereum.storage.tables import (
    BODIES,
    HEADERS,
    LIGHT_SCHEMA_VERSION,
    META,
    RECEIPTS,
    SCHEMA_VERSION,
    TABLES,
    WINDOW_SCHEMA_VERSION,
    number_key,
)
from wsnode.store.environment import DamagedRowError, Environment, Reader, Writer

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
        # `_state_fault` reads the state in a snapshot of its own, which may be of a later version than
        # `before`. A fault counts only if no other version was committed meanwhile.
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


_EXECUTED: Final = "ethereum"
_BLOBS: Final = "blobSchedule"
_DESCRIPTION: Final = "wsnode"
"""Description of header rules; another version may describe them better, so a difference is no conflict."""


class _Genesis(msgspec.Struct):
    """Genesis file without its accounts, which may be hundreds of megabytes."""

    config: Any = None


class HeadPosition(msgspec.Struct, frozen=True):
    """Number and time (in seconds) of a folder's head."""

    number: int
    timestamp: int


def agreed_spec(place: ChainFolder, genesis: bytes | None, *, writer: bool, durable: bool) -> ChainSpec:
    """Return the rules of a folder's chain; a writer stores `genesis` in a new folder.

    If `genesis` differs from the stored one only in forks above the head, a writer replaces the stored one.

    Raises:
        NoChainError: The folder has no chain, and this call does not create one.
        OtherGenesisError: The folder's chain has another genesis block than `genesis`.
        PassedForkError: The chain has passed a fork for which `genesis` has another block or time.
        OtherConfigurationError: The `config` of `genesis` differs in something else.
        InvalidGenesisError: `genesis` cannot be understood.
    """
    if genesis is not None and writer and not place.genesis.exists():
        spec = ChainSpec(genesis)
        place.keep_genesis(genesis, durable=durable)
        return spec
    text = place.read_genesis()
    stored = ChainSpec(text)
    if genesis in (None, text):
        return stored
    given = ChainSpec(genesis)
    if given.genesis_hash != stored.genesis_hash:
        raise OtherGenesisError(place.path, stored.genesis_hash, given.genesis_hash, place.maker())
    if not _configs_differ(text, genesis):
        return stored
    head = _head_position(place, writer=writer, durable=durable)
    _require_compatible(place.path, text, genesis, head)
    if writer:
        place.keep_genesis(genesis, durable=durable)
    return given


def _head_position(place: ChainFolder, *, writer: bool, durable: bool) -> HeadPosition | None:
    if not (place.chain / "data.mdb").exists():
        return None
    store = Environment(place.chain, TABLES, writer=writer, durable=durable)
    try:
        with store.read() as reader:
            return _position_of(reader)
    finally:
        store.close()


def require_known_schema(place: ChainFolder, *, writer: bool) -> None:
    """Check the schema version of a folder's store, if there is one, without opening its other tables.

    Raises:
        UnknownSchemaError: This program cannot read that version.
        StoreError: The file cannot be opened.
    """
    if not (place.chain / "data.mdb").exists():
        return
    store = Environment(place.chain, (META,), writer=writer, durable=False)
    try:
        with store.read() as reader:
            schema_version(reader, place.path)
    finally:
        store.close()


def _require_executable(folder: Path, spec: ChainSpec, kind: FolderKind) -> None:
    """Check that a chain can begin in a folder of a kind.

    Raises:
        UnsupportedExecutionError: The folder is to be full, and blocks of this family are not executed.
        NoAllocationError: The folder is to be full, and the genesis has a state root but no accounts.
    """
    if not kind.is_light and spec.family != _EXECUTED:
        raise UnsupportedExecutionError(folder, spec.family)
    if not kind.is_light and not spec.is_allotted:
        raise NoAllocationError(folder)


def begin(store: Environment, place: ChainFolder, spec: ChainSpec, kind: FolderKind) -> None:
    """Write the genesis block and the state after it to an empty store; any other store is left unchanged.

    Raises:
        UnsupportedExecutionError, NoAllocationError: As in `_require_executable`.
        StateError, StoreError: The store cannot be written.
    """
    with store.read() as reader:
        if schema_version(reader, place.path) is not None:
            return
    _require_executable(place.path, spec, kind)
    state = State(store, place.proved, spec, writer=True, is_proved=kind.is_light)
    staged = state.stage_genesis()

    def change(writer: Writer) -> None:
        _put_genesis(writer, spec, kind)
        if staged is not None:
            staged.write(writer)

    store.write(change)


def _put_genesis(writer: Writer, spec: ChainSpec, kind: FolderKind) -> None:
    meta.begin(writer, kind.schema_version, Hash32(spec.genesis_hash))
    if spec.first_number:
        canonical.begin_at(writer, spec.first_number)
    canonical.append(writer, [spec.genesis_block()])
    if kind.window is not None:
        window.set_window(writer, kind.window, kind.window_seconds)
        if not kind.is_light:
            window.begin_at_genesis(writer)


def require_kind(reader: Reader, folder: Path, kind: FolderKind) -> None:
    """Check that `kind` admits the folder's kind; `FULL` admits any.

    Raises:
        OtherKindError: `kind` does not admit the folder's.
    """
    found = window.kind(reader)
    if not kind.admits(found):
        raise OtherKindError(folder, found, kind)


def schema_version(reader: Reader, folder: Path) -> int | None:
    """Return the schema version of a store, None for a new store.

    Raises:
        UnknownSchemaError: This program cannot read that version.
    """
    try:
        found = meta.schema_version(reader)
    except DamagedRowError:
        # Older versions wrote no checksums, so each of their rows counts as damaged.
        raise UnknownSchemaError(folder, None, WINDOW_SCHEMA_VERSION) from None
    if found not in (None, SCHEMA_VERSION, LIGHT_SCHEMA_VERSION, WINDOW_SCHEMA_VERSION):
        raise UnknownSchemaError(folder, found, WINDOW_SCHEMA_VERSION)
    return found


def require_known(reader: Reader, folder: Path, spec: ChainSpec) -> None:
    """Check that a store is readable by this program and holds the chain of `spec`.

    Raises:
        NoChainError: The store is empty.
        UnknownSchemaError: This program cannot read the store's schema version.
        OtherGenesisError: The store holds another chain.
    """
    if schema_version(reader, folder) is None:
        raise NoChainError(folder)
    stored = meta.genesis_hash(reader)
    if stored != spec.genesis_hash:
        raise OtherGenesisError(folder, stored, spec.genesis_hash, ChainFolder(folder).maker())


def _position_of(reader: Reader) -> HeadPosition | None:
    """Return the position of the head, None in an empty store."""
    head = meta.marked_head(reader, meta.HEAD)
    row = None if head is None else reader.get(HEADERS, number_key(head.number))
    if row is None:
        return None
    header = header_fields(row)
    return HeadPosition(header.number, header.timestamp)


def _configs_differ(stored: bytes, given: bytes) -> bool:
    return _config(stored) != _config(given)


def _require_compatible(folder: Path, stored: bytes, given: bytes, head: HeadPosition | None) -> None:
    """Check that the given `config` differs from the stored one only in forks above the head.

    The rule is that of go-ethereum (params/config.go: checkCompatible).

    Raises:
        PassedForkError: They differ in a fork, and one of them activates it at or below the head.
        OtherConfigurationError: They differ in another member.
    """
    before, after = _config(stored), _config(given)
    for name in sorted(before.keys() | after.keys()):
        if name not in (_BLOBS, _DESCRIPTION) and before.get(name) != after.get(name):
            _require_above(folder, name, before.get(name), after.get(name), head)
    blobs = (before.get(_BLOBS) or {}, after.get(_BLOBS) or {})
    for name in sorted(blobs[0].keys() | blobs[1].keys()):
        if blobs[0].get(name) != blobs[1].get(name):
            key = f"{name}Time"
            _require_above(folder, key, before.get(key), after.get(key), head)


def _require_above(folder: Path, key: str, stored: Any, given: Any, head: HeadPosition | None) -> None:
    if not key.endswith(("Time", "Block")):
        raise OtherConfigurationError(folder)
    activations = [_number(value) for value in (stored, given) if value is not None]
    if head is None or not activations:
        return
    position = head.timestamp if key.endswith("Time") else head.number
    if min(activations) <= position:
        raise PassedForkError(folder, key, stored, given, head.number, position)


def _number(value: Any) -> int:
    return value if isinstance(value, int) else int(str(value), 0)


def _config(genesis: bytes) -> dict[str, Any]:
    config = msgspec.json.decode(genesis, type=_Genesis).config
    return config if isinstance(config, dict) else {}
