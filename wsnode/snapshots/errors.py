"""Errors of a copy that cannot be taken or used, each in one line for the operator."""

from pathlib import Path


class CopyError(Exception):
    """Base of the errors of snapshots (copies of a data folder) that cannot be taken or used."""


class FolderNotEmptyError(CopyError):
    """Error of a target folder for a snapshot that is not empty."""

    def __init__(self, folder: Path, found: str) -> None:
        super().__init__(f"{folder} holds {found} already: take an empty folder")
        self.folder, self.found = folder, found


class FolderBusyError(CopyError):
    """Error of a target folder for a snapshot, if another process is filling the folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"{folder}: another process is filling this folder")
        self.folder = folder


class WriterBusyError(CopyError):
    """Error of a snapshot that could not begin within `seconds`, because the writer of the data folder was
    too busy.
    """

    def __init__(self, folder: Path, seconds: float) -> None:
        super().__init__(
            f"{folder}: no copy could begin within {seconds:.0f} s, because its writer was busy: "
            "try again when it has less to do"
        )
        self.folder, self.seconds = folder, seconds


class NoManifestError(CopyError):
    """Error of a folder that holds no finished snapshot, since it has no manifest."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"{folder} is no finished snapshot: it has no manifest.json")
        self.folder = folder


class ManifestError(CopyError):
    """Error of a manifest that is malformed, or contradicts itself."""

    def __init__(self, file: Path, reason: str) -> None:
        super().__init__(f"{file}: {reason}")
        self.file, self.reason = file, reason


class ManifestVersionError(CopyError):
    """Error of a snapshot in the format of another version of the program; the message has the version found
    and the known one.
    """

    def __init__(self, file: Path, found: object, known: int) -> None:
        super().__init__(f"{file}: its version is {found}, this program knows {known}")
        self.file, self.found, self.known = file, found, known


class PieceMissingError(CopyError):
    """Error of a piece (a compressed part of a file) that is in the manifest and not in the folder."""

    def __init__(self, piece: Path) -> None:
        super().__init__(f"{piece} is missing")
        self.piece = piece


class PieceKindError(CopyError):
    """Error of a piece that is no regular file, but a pipe for example."""

    def __init__(self, piece: Path, kind: str) -> None:
        super().__init__(f"{piece} is {kind} and not a file")
        self.piece, self.kind = piece, kind


class PieceSizeError(CopyError):
    """Error of a piece of a snapshot whose size in bytes is not the manifest's."""

    def __init__(self, piece: Path, found: int, wanted: int) -> None:
        super().__init__(f"{piece} has {found} bytes, the manifest says {wanted}")
        self.piece, self.found, self.wanted = piece, found, wanted


class PieceHashError(CopyError):
    """Error of a piece of a snapshot whose SHA-256 hash is not the manifest's, so its bytes have changed."""

    def __init__(self, piece: Path, found: str, wanted: str) -> None:
        super().__init__(f"{piece} has the sha256 {found}, the manifest says {wanted}")
        self.piece, self.found, self.wanted = piece, found, wanted


class CorruptSourceError(CopyError):
    """Error of a snapshot whose pieces are intact, but were taken from a store with a damaged row."""

    def __init__(self, table: str, fault: str) -> None:
        super().__init__(f"the snapshot is one of a damaged store: {table}: {fault}; take another snapshot")
        self.table, self.fault = table, fault


class SnapshotContentError(CopyError):
    """Error of a snapshot with intact pieces, if the unpacked contents differ from the manifest; the message
    has what was found and wanted.
    """

    def __init__(self, file: str, found: object, wanted: object) -> None:
        super().__init__(f"{file} of the snapshot has {found}, the manifest says {wanted}")
        self.file, self.found, self.wanted = file, found, wanted
