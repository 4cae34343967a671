"""Manifest of a copy: `manifest.json`, written last."""

from pathlib import Path
from typing import Annotated, Final

import msgspec

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import hexadecimal
from wsnode.snapshots.errors import ManifestError, ManifestVersionError, NoManifestError
from wsnode.untrusted.decoding import JsonDecoder, MalformedError
from wsnode.untrusted.files import IrregularFileError, OversizedFileError, read_file

NAME: Final = "manifest.json"
VERSION: Final = 2
MAX_BYTES: Final = 1 << 26
"""Maximum number of bytes of a manifest: a copy of 20 TB has one of half that."""
PIECE_BYTES: Final = 1 << 26
"""Bytes of a file in one piece, before compression."""
ETHEREUM_FILES: Final = ("eth/genesis.json", "eth/chain/data.mdb")
STARKNET_FILES: Final = ("alt/chain/data.mdb",)

Size = Annotated[int, msgspec.Meta(ge=0)]
Sha256 = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
PieceName = Annotated[str, msgspec.Meta(pattern=r"^(eth|alt)-[a-z]+-[0-9]{6}\.zst$")]


class Piece(msgspec.Struct, frozen=True):
    """Piece in a manifest: a compressed part of a file, of at most `PIECE_BYTES` unpacked. `size` (bytes) and
    `sha256` are of the compressed piece.
    """

    name: PieceName
    size: Size
    sha256: Sha256


class ManifestFile(msgspec.Struct, frozen=True):
    """File of the data folder: its path there, its size in bytes, and its pieces in order."""

    name: str
    size: Size
    pieces: tuple[Piece, ...]


class ManifestChain(msgspec.Struct, frozen=True, rename="camel"):
    """Ethereum chain in a manifest: its genesis block's hash, and its head with the state root after it."""

    genesis: str
    chain_id: int
    number: int
    hash: str
    state_root: str
    window: int | None = None
    """Number of blocks that the folder keeps, None for all."""


class ManifestStarknet(msgspec.Struct, frozen=True):
    """Starknet chain in a manifest: number and hash of its head, both None for a chain without blocks."""

    number: int | None
    hash: str | None


class Manifest(msgspec.Struct, frozen=True):
    """Manifest of a snapshot: the version of its form, the program that wrote it, the chains (`eth`, and
    `alt` for Starknet; None without one), and the files.
    """

    version: int
    program: str
    eth: ManifestChain | None
    alt: ManifestStarknet | None
    files: tuple[ManifestFile, ...]

    @property
    def pieces(self) -> list[Piece]:
        return [piece for file in self.files for piece in file.pieces]


_MEMBERS: Final = JsonDecoder[dict[str, msgspec.Raw]](dict[str, msgspec.Raw])
_MANIFEST: Final = JsonDecoder(Manifest)


def piece_name(file: str, number: int) -> str:
    """Return the name of a file's piece, such as `eth-chain-000000.zst`."""
    family, part = file.split("/")[:2]
    return f"{family}-{part.removesuffix('.json')}-{number:06}.zst"


def encoded(manifest: Manifest) -> bytes:
    """Return the indented JSON of a manifest."""
    return msgspec.json.format(msgspec.json.encode(manifest)) + b"\n"


def read(folder: Path) -> Manifest:
    """Return the manifest of a copy.

    Raises:
        NoManifestError: There is none.
        ManifestVersionError: It is of another version.
        ManifestError: It is malformed, or names files that are no part of a data folder.
    """
    file = folder / NAME
    try:
        text = read_file(file, MAX_BYTES)
    except FileNotFoundError:
        raise NoManifestError(folder) from None
    except IrregularFileError as error:
        raise ManifestError(file, f"it is {error.kind} and not a file") from None
    except OversizedFileError:
        raise ManifestError(file, f"it has more than {MAX_BYTES} bytes") from None
    return _decoded(file, text)


def _decoded(file: Path, text: bytes) -> Manifest:
    try:
        version = _MEMBERS.decode(text).get("version", msgspec.Raw(b"none"))
        if bytes(version) != str(VERSION).encode():
            raise ManifestVersionError(file, bytes(version)[:20].decode(errors="replace"), VERSION)
        manifest = _MANIFEST.decode(text)
    except MalformedError as error:
        raise ManifestError(file, f"it is not a manifest: {error}") from None
    _require_files(file, manifest)
    return manifest


def _require_files(file: Path, manifest: Manifest) -> None:
    wanted = (ETHEREUM_FILES if manifest.eth else ()) + (STARKNET_FILES if manifest.alt else ())
    found = tuple(each.name for each in manifest.files)
    if found != wanted or not wanted:
        raise ManifestError(file, f"it has the files {', '.join(found) or 'none'}, not those of its chains")


def chain_contents(chain: Chain, head: Head, state_root: bytes) -> ManifestChain:
    """Return the manifest's members for a chain that ends at a head."""
    return ManifestChain(
        genesis=hexadecimal(chain.spec.genesis_hash),
        chain_id=chain.spec.chain_id,
        number=head.number,
        hash=hexadecimal(head.hash),
        state_root=hexadecimal(state_root),
        window=chain.window,
    )


def starknet_contents(number: int | None, block_hash: bytes | None) -> ManifestStarknet:
    """Return the manifest's members for a Starknet chain that ends at a block; both None without blocks."""
    return ManifestStarknet(number, None if block_hash is None else hexadecimal(block_hash))
