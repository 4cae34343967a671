"""Errors of a chain's folder, each with a message of one line for the operator."""

from pathlib import Path

from wsnode.ethereum.primitives.values import hexadecimal
from wsnode.ethereum.storage.folder_kind import FolderKind
from wsnode.store.environment import StoreError

__all__ = [
    "ChainBusyError",
    "ChainError",
    "ChainIdsError",
    "CorruptHeadError",
    "NoAllocationError",
    "NoChainError",
    "OtherConfigurationError",
    "OtherGenesisError",
    "OtherKindError",
    "PassedForkError",
    "StoreError",
    "UnknownSchemaError",
]


class ChainError(Exception):
    """Error of a folder whose chain cannot be created or opened; the subclasses name the reason."""


class ChainIdsError(ChainError):
    """Error of a change of the chain id beyond the number of changes that a folder can record; `most` is this
    number.
    """

    def __init__(self, most: int) -> None:
        super().__init__(f"the chain id was changed {most} times, which is all that can be kept")
        self.most = most


class NoChainError(ChainError):
    """Error of opening a folder that contains no chain; `folder` is its path."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"{folder} holds no chain: import one first, with its --genesis")
        self.folder = folder


class UnknownSchemaError(ChainError):
    """Error of a folder written with the storage schema of another version of the program: `found`, while
    this version reads `known`. `found` is None for a schema without checksums, and for a damaged row of the
    version.
    """

    def __init__(self, folder: Path, found: int | None, known: int) -> None:
        schema = "an older storage schema, or a damaged one" if found is None else f"storage schema {found}"
        super().__init__(f"{folder} has {schema}, this program knows {known}: import again")
        self.folder, self.found, self.known = folder, found, known


class OtherKindError(ChainError):
    """Error of a folder of another kind than requested, light or full, or with another window of blocks; a
    folder's kind cannot change.
    """

    def __init__(self, folder: Path, found: FolderKind, given: FolderKind) -> None:
        super().__init__(f"{folder} is {found}, not {given}: take another folder")
        self.folder, self.found, self.given = folder, found, given


class NoAllocationError(ChainError):
    """Error of a genesis file without accounts (`alloc`) for a full folder, which needs them."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"{folder}: the genesis has no alloc, which all but light folders need")
        self.folder = folder


class UnsupportedExecutionError(ChainError):
    """Error of a full folder for a chain of a family whose blocks wsnode does not execute; its folder can
    only be light.
    """

    def __init__(self, folder: Path, family: str) -> None:
        super().__init__(
            f"{folder}: wsnode does not execute blocks of the family {family}: follow the chain with --light"
        )
        self.folder = folder
        self.family = family


class OtherGenesisError(ChainError):
    """Error of a folder with the chain of another genesis block than given; `stored` and `given` are the
    hashes, `maker` the command that made the folder.
    """

    def __init__(self, folder: Path, stored: bytes, given: bytes, maker: str) -> None:
        super().__init__(
            f"{folder} holds the chain of genesis {hexadecimal(stored)}, which `{maker}` made, "
            f"not of {hexadecimal(given)}: take another folder"
        )
        self.folder, self.stored, self.given, self.maker = folder, stored, given, maker


class OtherConfigurationError(ChainError):
    """Error of a genesis file with the folder's genesis block, but another `config` than the folder's."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"the genesis file's `config` differs from the one in {folder / 'genesis.json'}")
        self.folder = folder


class PassedForkError(ChainError):
    """Error of a genesis file with another block or time for a fork already passed by the folder's chain.
    `stored` and `given` are block numbers or times in seconds, None for a fork that is not scheduled;
    `position` is the head's number or time.
    """

    def __init__(
        self, folder: Path, fork: str, stored: object, given: object, number: int, position: int
    ) -> None:
        words = ["never" if each is None else str(each) for each in (stored, given)]
        super().__init__(
            f"{folder / 'genesis.json'} has {fork} {words[0]}, the genesis file {words[1]}, and the head, "
            f"block {number}, is at {position}: a fork cannot change once the chain has passed it"
        )
        self.folder, self.fork, self.stored, self.given = folder, fork, stored, given
        self.number, self.position = number, position


class ChainBusyError(ChainError):
    """Error of opening for writing a folder that another process is writing; `owner` is its process id."""

    def __init__(self, folder: Path, owner: str) -> None:
        super().__init__(f"{folder} is being written by process {owner}")
        self.folder, self.owner = folder, owner


class CorruptHeadError(ChainError):
    """Error of a folder whose rows at the head contradict each other, as in a copy made while a process was
    writing; `fault` describes the contradiction.
    """

    def __init__(self, folder: Path, fault: str) -> None:
        super().__init__(
            f"{folder} is no whole copy of a chain: {fault}; "
            "copy a folder by `wsnode snapshot`, or import again"
        )
        self.folder, self.fault = folder, fault
