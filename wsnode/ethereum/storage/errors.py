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
    """Reason for which a chain's folder cannot be used."""


class ChainIdsError(ChainError):
    """Chain id that was changed as often as the folder can record."""

    def __init__(self, most: int) -> None:
        super().__init__(f"the chain id was changed {most} times, which is all that can be kept")
        self.most = most


class NoChainError(ChainError):
    """Folder without a chain."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"{folder} holds no chain: import one first, with its --genesis")
        self.folder = folder


class UnknownSchemaError(ChainError):
    """Folder with a storage schema of another version of the program.

    `found` is None for a schema without checksums, and for a damaged row of the version.
    """

    def __init__(self, folder: Path, found: int | None, known: int) -> None:
        schema = "an older storage schema, or a damaged one" if found is None else f"storage schema {found}"
        super().__init__(f"{folder} has {schema}, this program knows {known}: import again")
        self.folder, self.found, self.known = folder, found, known


class OtherKindError(ChainError):
    """Folder of another kind, light or full, or of another window than asked for; its kind cannot change."""

    def __init__(self, folder: Path, found: FolderKind, given: FolderKind) -> None:
        super().__init__(f"{folder} is {found}, not {given}: take another folder")
        self.folder, self.found, self.given = folder, found, given


class NoAllocationError(ChainError):
    """Genesis file without accounts, which a full folder needs."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"{folder}: the genesis has no alloc, which all but light folders need")
        self.folder = folder


class UnsupportedExecutionError(ChainError):
    """Chain of a family with blocks that wsnode does not execute, so its folder can only be light."""

    def __init__(self, folder: Path, family: str) -> None:
        super().__init__(
            f"{folder}: wsnode does not execute blocks of the family {family}: follow the chain with --light"
        )
        self.folder = folder
        self.family = family


class OtherGenesisError(ChainError):
    """Folder of another chain, by the hash of its genesis block."""

    def __init__(self, folder: Path, stored: bytes, given: bytes, maker: str) -> None:
        super().__init__(
            f"{folder} holds the chain of genesis {hexadecimal(stored)}, which `{maker}` made, "
            f"not of {hexadecimal(given)}: take another folder"
        )
        self.folder, self.stored, self.given, self.maker = folder, stored, given, maker


class OtherConfigurationError(ChainError):
    """Genesis file of the folder's chain, but with another `config`."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"the genesis file's `config` differs from the one in {folder / 'genesis.json'}")
        self.folder = folder


class PassedForkError(ChainError):
    """Genesis file with another block or time for a fork already passed by the folder's chain.

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
    """Folder that another process is writing; `owner` is its process id."""

    def __init__(self, folder: Path, owner: str) -> None:
        super().__init__(f"{folder} is being written by process {owner}")
        self.folder, self.owner = folder, owner


class CorruptHeadError(ChainError):
    """Folder with rows that do not agree at the head, as after a copy beside its writer."""

    def __init__(self, folder: Path, fault: str) -> None:
        super().__init__(
            f"{folder} is no whole copy of a chain: {fault}; "
            "copy a folder by `wsnode snapshot`, or import again"
        )
        self.folder, self.fault = folder, fault
