"""Why a copy cannot be taken or used, each in one line for the operator."""

from pathlib import Path


class CopyError(Exception):
    """A copy cannot be taken, or not be used."""


class FolderNotEmptyError(CopyError):
    """The folder that was to be filled holds something."""

    def __init__(self, folder: Path, found: str) -> None:
        super().__init__(f"{folder} holds {found} already: take an empty folder")
        self.folder, self.found = folder, found


class FolderBusyError(CopyError):
    """Another process fills the folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"{folder}: another process is filling this folder")
        self.folder = folder


class WriterBusyError(CopyError):
    """The folder's writer left no moment at which a copy could begin."""

    def __init__(self, folder: Path, seconds: float) -> None:
        super().__init__(
            f"{folder}: in {seconds:.0f} s its writer left no moment at which a copy could begin: "
            "try again when it has less to do"
        )
        self.folder, self.seconds = folder, seconds


class NoManifestError(CopyError):
    """The folder holds no finished copy."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"{folder} is no finished snapshot: it has no manifest.json")
        self.folder = folder


class ManifestError(CopyError):
    """The manifest is not one, or says what cannot be."""

    def __init__(self, file: Path, reason: str) -> None:
        super().__init__(f"{file}: {reason}")
        self.file, self.reason = file, reason


class ManifestVersionError(CopyError):
    """Another version of the program wrote the copy in a form unknown here."""

    def __init__(self, file: Path, found: object, known: int) -> None:
        super().__init__(f"{file}: its version is {found}, this program knows {known}")
        self.file, self.found, self.known = file, found, known


class PieceMissingError(CopyError):
    """A piece that the manifest names is not there."""

    def __init__(self, piece: Path) -> None:
        super().__init__(f"{piece} is missing")
        self.piece = piece


class PieceKindError(CopyError):
    """Something else lies in the place of a piece: a pipe, say."""

    def __init__(self, piece: Path, kind: str) -> None:
        super().__init__(f"{piece} is {kind} and not a file")
        self.piece, self.kind = piece, kind


class PieceSizeError(CopyError):
    """A piece is shorter or longer than the manifest says."""

    def __init__(self, piece: Path, found: int, wanted: int) -> None:
        super().__init__(f"{piece} has {found} bytes, the manifest says {wanted}")
        self.piece, self.found, self.wanted = piece, found, wanted


class PieceHashError(CopyError):
    """A piece holds other bytes than those that were written."""

    def __init__(self, piece: Path, found: str, wanted: str) -> None:
        super().__init__(f"{piece} has the sha256 {found}, the manifest says {wanted}")
        self.piece, self.found, self.wanted = piece, found, wanted


class CorruptSnapshotError(CopyError):
    """The pieces are as they were written, from a store that had a damaged row."""

    def __init__(self, table: str, fault: str) -> None:
        super().__init__(f"the snapshot is one of a damaged store: {table}: {fault}; take another snapshot")
        self.table, self.fault = table, fault


class SnapshotContentError(CopyError):
    """The pieces are as they were written, but do not make what the manifest says."""

    def __init__(self, file: str, found: object, wanted: object) -> None:
        super().__init__(f"{file} of the snapshot has {found}, the manifest says {wanted}")
        self.file, self.found, self.wanted = file, found, wanted
