"""The beginning of a chain's folder, and what is held against its contents when it is opened."""

from pathlib import Path

from wsnode.ethereum.primitives.values import Hash32
from wsnode.ethereum.state import ChainSpec
from wsnode.ethereum.storage import canonical, meta, patches, window
from wsnode.ethereum.storage.errors import (
    NoAllocationError,
    NoChainError,
    OtherGenesisError,
    OtherKindError,
    UnknownSchemaError,
)
from wsnode.ethereum.storage.folder import ChainFolder
from wsnode.ethereum.storage.kind import FULL, Kind
from wsnode.ethereum.storage.tables import (
    LIGHT_SCHEMA_VERSION,
    SCHEMA_VERSION,
    WINDOW_SCHEMA_VERSION,
)
from wsnode.store.environment import Reader, Writer


def agreed_spec(place: ChainFolder, genesis: bytes | None, *, writer: bool, durable: bool) -> ChainSpec:
    """Return the rules of a folder's chain; a writer keeps those of `genesis` in a new folder.

    Raises:
        NoChainError: There is no chain, and none is begun.
        OtherGenesisError: The folder's chain has another genesis than `genesis`.
        InvalidGenesisError: `genesis` cannot be understood.
    """
    if genesis is not None and writer and not place.genesis.exists():
        spec = ChainSpec(genesis)
        place.keep_genesis(genesis, durable=durable)
        return spec
    stored = ChainSpec(place.read_genesis())
    if genesis is not None:
        given = ChainSpec(genesis)
        if given.genesis_hash != stored.genesis_hash:
            raise OtherGenesisError(place.path, stored.genesis_hash, given.genesis_hash, place.maker())
        place.require_configuration(genesis)
    return stored


def begin(writer: Writer, folder: Path, spec: ChainSpec, kind: Kind) -> None:
    """Put the genesis block into a store that is empty.

    Raises:
        NoAllocationError: The chain is full, and the genesis has a state root but no accounts.
    """
    if meta.schema_version(writer) is not None:
        return
    if not kind.is_light and not spec.is_allotted:
        raise NoAllocationError(folder)
    if not kind.is_light:
        patches.begin(writer)
    meta.begin(writer, kind.schema_version, Hash32(spec.genesis_hash))
    if spec.first_number:
        canonical.begin_at(writer, spec.first_number)
    canonical.append(writer, [spec.genesis_block()])
    if kind.window is not None:
        window.set_window(writer, kind.window)
        if not kind.is_light:
            window.begin_at_genesis(writer)


def require_kind(reader: Reader, folder: Path, kind: Kind) -> None:
    """Refuse a folder that is of another kind than the one asked for; for the plain full one any will do.

    Raises:
        OtherKindError: It is.
    """
    found = window.kind(reader)
    if kind not in (FULL, found):
        raise OtherKindError(folder, found, kind)


def require_known(reader: Reader, folder: Path, spec: ChainSpec) -> None:
    """Refuse a store that this version cannot read, or of another chain.

    Raises:
        NoChainError: It is empty.
        UnknownSchemaError: Another version wrote it.
        OtherGenesisError: It holds another chain.
    """
    version = meta.schema_version(reader)
    if version is None:
        raise NoChainError(folder)
    if version not in (SCHEMA_VERSION, LIGHT_SCHEMA_VERSION, WINDOW_SCHEMA_VERSION):
        raise UnknownSchemaError(folder, version, WINDOW_SCHEMA_VERSION)
    stored = meta.genesis_hash(reader)
    if stored != spec.genesis_hash:
        raise OtherGenesisError(folder, stored, spec.genesis_hash, ChainFolder(folder).maker())
