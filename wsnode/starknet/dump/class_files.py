"""Classes of a dump, found by hash when a block names them.

A file named by a class hash is opened only for that class. The others are opened at the start.
"""

from pathlib import Path

import msgspec

from wsnode.starknet.classes.decode import decode_class
from wsnode.starknet.classes.definition import ClassKind, ContractClass, NotAClassError
from wsnode.starknet.dump.files import DocumentReader, FileLocation, documents, dump_files, stem
from wsnode.starknet.dump.folder import Report
from wsnode.starknet.felt import felt_bytes, felt_text


class ClassHashMismatchError(Exception):
    """Error of a Sierra class in a dump listed under another hash than the one recomputed from its
    definition.
    """


class ClassFiles:
    """Class definitions in the files of a dump, found by class hash."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._places: dict[bytes, FileLocation] = {}
        self._carried: dict[bytes, msgspec.Raw] = {}
        self._reader = DocumentReader()

    def add_folder(self, folder: Path) -> None:
        """Record the classes in `folder`; other files are reported.

        Raises:
            BlockDumpError: There is no such folder, or a file cannot be read.
        """
        for path in dump_files(folder):
            if class_hash := _hash_in_name(path):
                self._places[class_hash] = FileLocation(path)
            else:
                for place, text in documents(path):
                    self.add(place, text)

    def add(self, place: FileLocation, text: bytes | None = None) -> None:
        """Record the class at `place`; another document is reported."""
        if class_hash := _hash_in_name(place.path):
            self._places[class_hash] = place
            return
        try:
            found = decode_class(self._reader.read(place) if text is None else text)
        except NotAClassError as error:
            self._report(f"{place.path}: passed over: {error}")
        else:
            self._places[found.class_hash] = place

    def close(self) -> None:
        self._reader.close()

    def carry(self, classes: dict[str, msgspec.Raw]) -> None:
        """Search `classes`, sent with a block, before the files; they replace those of the last block."""
        self._carried = {class_hash: text for name, text in classes.items() if (class_hash := _hash_of(name))}

    def find(self, class_hash: bytes) -> ContractClass | None:
        """Return the class of that hash; None if it is missing or refused, and a refusal is reported."""
        where, text = self._look_up(class_hash)
        if text is None:
            return None
        try:
            return checked(decode_class(text), class_hash, where, self._report)
        except (NotAClassError, ClassHashMismatchError) as error:
            self._report(f"{where}: class {felt_text(class_hash)} is refused: {error}")
            return None

    def _look_up(self, class_hash: bytes) -> tuple[str, bytes | None]:
        if (carried := self._carried.get(class_hash)) is not None:
            return "the block's own classes", bytes(carried)
        if (place := self._places.get(class_hash)) is not None:
            return str(place.path), self._reader.read(place)
        return "", None


def checked(found: ContractClass, class_hash: bytes, where: str, report: Report) -> ContractClass:
    """Return the class under its hash on the chain.

    The hash of 42 Cairo 0 classes of the main network differs from their class hash, so a difference is
    reported and accepted, as in pathfinder; a Sierra class with a wrong hash is refused.

    Raises:
        ClassHashMismatchError: A Sierra class has another hash.
    """
    if found.class_hash == class_hash:
        return found
    message = f"it hashes to {felt_text(found.class_hash)}"
    if found.kind is ClassKind.SIERRA:
        raise ClassHashMismatchError(message)
    report(f"{where}: class {felt_text(class_hash)} is taken, though {message}: it is a Cairo 0 class")
    return ContractClass(found.kind, class_hash, found.rendered)


def _hash_in_name(path: Path) -> bytes | None:
    return _hash_of(stem(path))


def _hash_of(name: str) -> bytes | None:
    try:
        return felt_bytes(name)
    except ValueError:
        return None
