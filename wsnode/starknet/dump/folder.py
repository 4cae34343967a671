"""A folder of documents, read as a chain's blocks in order.

The first pass records the place of each state update and keeps the headers, which may be in other files. The
second reads the updates again, one by one. So a dump holds its headers in memory, not its diffs.
"""

from collections.abc import Callable, Generator
from pathlib import Path

import msgspec

from wsnode.starknet.block import Header, UnverifiedBlock
from wsnode.starknet.dump.documents import Document, Update, read_document
from wsnode.starknet.dump.files import DocumentReader, Place, documents, dump_files, number_in_name
from wsnode.starknet.errors import DumpError, InvalidBlockError
from wsnode.starknet.felt import felt_text
from wsnode.starknet.state_diff import InvalidStateDiffError

Report = Callable[[str], None]


class Listed(msgspec.Struct, frozen=True):
    """A block that the dump holds."""

    number: int
    hash: bytes
    place: Place


class Dump(msgspec.Struct, frozen=True):
    """The result of the first pass."""

    blocks: list[Listed]
    """In order of number, without duplicates."""
    headers: dict[bytes, Header]
    class_places: list[Place]

    def read(self, first: int) -> Generator[tuple[UnverifiedBlock, dict[str, msgspec.Raw]]]:
        """Yield the blocks from number `first` on, with the classes that their documents carry.

        One file is open meanwhile, until the end or `close`.

        Raises:
            InvalidBlockError: A block's diff contradicts itself.
            DumpError: A file changed since the first pass.
        """
        reader = DocumentReader()
        try:
            for listed in self.blocks:
                if listed.number >= first:
                    document = read_document(reader.read(listed.place))
                    yield self._block(listed, document), document.classes
        finally:
            reader.close()

    def _block(self, listed: Listed, document: Document) -> UnverifiedBlock:
        update = document.update
        if update is None or update.hash != listed.hash:
            raise DumpError(f"{listed.place.path}: block {listed.number} is no longer in it")
        try:
            diff = update.diff()
        except InvalidStateDiffError as error:
            rule = "state_diff"
            raise InvalidBlockError(
                listed.number, listed.hash, rule, "a consistent one", str(error)
            ) from None
        header = self.headers.get(listed.hash) or Header(hash=listed.hash)
        return UnverifiedBlock(
            number=listed.number, header=header, old_root=update.old_root, new_root=update.new_root, diff=diff
        )


def read_dump(folder: Path, first_block: int | None, report: Report) -> Dump:
    """Return the blocks in `folder`; other documents are reported and skipped.

    A block without a number follows the one before it, from `first_block` on.

    Raises:
        DumpError: It holds no block, or two blocks have one number.
    """
    headers: dict[bytes, Header] = {}
    updates: list[tuple[Update, Place]] = []
    class_places: list[Place] = []
    for path in dump_files(folder):
        for place, text in documents(path):
            document = read_document(text)
            if document.header is not None:
                headers[document.header.hash] = _fuller(headers.get(document.header.hash), document.header)
            if document.update is not None:
                # The second pass reads the text again.
                updates.append((msgspec.structs.replace(document.update, diff_text=b""), place))
            if document.is_class:
                class_places.append(place)
            _report_unused(document, place, report)
    return Dump(_numbered(updates, headers, first_block or 0), headers, class_places)


def _report_unused(document: Document, place: Place, report: Report) -> None:
    if document.is_pending:
        report(f"{place.path}: a pending update is passed over: its block is not finished")
    elif document.other is not None:
        report(f"{place.path}: passed over: {document.other}")


def _fuller(known: Header | None, other: Header) -> Header:
    """Return one header from two documents about one block."""
    if known is None:
        return other
    told = {name: value for name, value in msgspec.structs.asdict(other).items() if value is not None}
    return msgspec.structs.replace(known, **told | {"more": known.more | other.more})


def _numbered(
    updates: list[tuple[Update, Place]], headers: dict[bytes, Header], first_block: int
) -> list[Listed]:
    listed: dict[int, Listed] = {}
    follower = first_block
    for update, place in updates:
        header = headers.get(update.hash)
        told = (update.number, header.number if header else None, number_in_name(place.path), follower)
        number = next(number for number in told if number is not None)
        other = listed.setdefault(number, Listed(number, update.hash, place))
        if other.hash != update.hash:
            raise DumpError(
                f"block {number} is {felt_text(other.hash)} in {other.place.path}"
                f" and {felt_text(update.hash)} in {place.path}"
            )
        follower = number + 1
    return [listed[number] for number in sorted(listed)]
