"""Errors of a copy that cannot be taken or used, each in one line for the operator."""

from pathlib import Path


class CopyError(Exception):
    """Error of a copy that cannot be taken or used."""


class FolderNotEmptyError(CopyError):
    """Error of a target folder that is not empty."""

    def __init__(self, folder: Path, found: str) -> None:
        super().__init__(f"{folder} holds {found} already: take an empty folder")
        self.folder, self.found = folder, found


class FolderBusyError(CopyError):
    """Error of a target folder that another process fills."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"{folder}: another process is filling this folder")
        self.folder = folder


class WriterBusyError(CopyError):
    """Error of a copy that could not begin within `seconds`, because the folder's writer was too busy."""

    def __init__(self, folder: Path, seconds: float) -> None:
        super().__init__(
            f"{folder}: no copy could begin within {seconds:.0f} s, because its writer was busy: "
            "try again when it has less to do"
        )
        self.folder, self.seconds = folder, seconds


class NoManifestError(CopyError):
    """Error of a folder without a finished copy."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"{folder} is no finished snapshot: it has no manifest.json")
        self.folder = folder


class ManifestError(CopyError):
    """Error of a manifest that is malformed, or contradicts itself."""

    def __init__(self, file: Path, reason: str) -> None:
        super().__init__(f"{file}: {reason}")
        self.file, self.reason = file, reason


class ManifestVersionError(CopyError):
    """Error of a copy in the form of another version of the program."""

    def __init__(self, file: Path, found: object, known: int) -> None:
        super().__init__(f"{file}: its version is {found}, this program knows {known}")
        self.file, self.found, self.known = file, found, known


class PieceMissingError(CopyError):
    """Error of a missing piece of the manifest."""

    def __init__(self, piece: Path) -> None:
        super().__init__(f"{piece} is missing")
        self.piece = piece


class PieceKindError(CopyError):
    """Error of a piece that is no regular file, but a pipe for example."""

    def __init__(self, piece: Path, kind: str) -> None:
        super().__init__(f"{piece} is {kind} and not a file")
        self.piece, self.kind = piece, kind


class PieceSizeError(CopyError):
    """Error of a piece with another size than the manifest's."""

    def __init__(self, piece: Path, found: int, wanted: int) -> None:
        super().__init__(f"{piece} has {found} bytes, the manifest says {wanted}")
        self.piece, self.found, self.wanted = piece, found, wanted


class PieceHashError(CopyError):
    """Error of a piece with other bytes than were written."""

    def __init__(self, piece: Path, found: str, wanted: str) -> None:
        super().__init__(f"{piece} has the sha256 {found}, the manifest says {wanted}")
        self.piece, self.found, self.wanted = piece, found, wanted


class CorruptSourceError(CopyError):
    """Error of a snapshot whose pieces are intact, but were taken from a store with a damaged row."""

    def __init__(self, table: str, fault: str) -> None:
        super().__init__(f"the snapshot is one of a damaged store: {table}: {fault}; take another snapshot")
        self.table, self.fault = table, fault


class SnapshotContentError(CopyError):
    """Error of intact pieces whose contents are not those of the manifest."""

    def __init__(self, file: str, found: object, wanted: object) -> None:
        super().__init__(f"{file} of the snapshot has {found}, the manifest says {wanted}")
        self.file, self.found, self.wanted = file, found, wanted
