"""A folder of documents, read as a chain's blocks in order.

The first pass records the place of each state update and keeps the headers, which may be in other files. The
second reads the updates again, one by one. So a dump holds its headers in memory, not its diffs.
"""

from collections.abc import Callable, Generator
from contextlib import closing
from pathlib import Path

import msgspec

from wsnode.starknet.block import InvalidStateDiffError, StarknetHeader, UnverifiedStarknetBlock
from wsnode.starknet.dump.documents import DumpDocument, DumpUpdate, read_document
from wsnode.starknet.dump.files import DocumentReader, FileLocation, documents, dump_files, number_in_name
from wsnode.starknet.dump.receipt_block import node_block
from wsnode.starknet.errors import BlockDumpError, InvalidStarknetBlockError
from wsnode.starknet.felt import felt_text
from wsnode.untrusted.decoding import MalformedError

Report = Callable[[str], None]


class BlockIndexEntry(msgspec.Struct, frozen=True):
    """Block found in a dump: its number, its hash and its place."""

    number: int
    hash: bytes
    place: FileLocation


class DumpFolder(msgspec.Struct, frozen=True):
    """Index of a dump, from a first pass over its files: blocks, headers, bodies and classes."""

    blocks: list[BlockIndexEntry]
    """In order of number, without duplicates."""
    headers: dict[bytes, StarknetHeader]
    bodies: dict[bytes, FileLocation]
    """The documents with transactions and receipts, by block hash."""
    class_places: list[FileLocation]

    def read(self, first: int) -> Generator[tuple[UnverifiedStarknetBlock, dict[str, msgspec.Raw]]]:
        """Yield the blocks from number `first` on, with the classes that their documents carry.

        One file is open meanwhile, until the end or `close`.

        Raises:
            InvalidStarknetBlockError: A block's diff contradicts itself.
            BlockDumpError: A file changed since the first pass.
        """
        # Bodies may be in other files than state updates, and a reader keeps only one file open.
        with closing(DocumentReader()) as reader, closing(DocumentReader()) as bodies:
            for listed in self.blocks:
                if listed.number >= first:
                    document = read_document(reader.read(listed.place))
                    yield self._block(listed, document, self._body(listed, bodies)), document.classes

    def _body(self, listed: BlockIndexEntry, reader: DocumentReader) -> DumpDocument | None:
        """Return the document with the block's transactions, None if the folder has none."""
        place = self.bodies.get(listed.hash)
        if place is None:
            return None
        document = read_document(reader.read(place))
        if document.body is None or document.header is None or document.header.hash != listed.hash:
            raise BlockDumpError(f"{place.path}: block {listed.number} is no longer in it")
        return document

    def _block(
        self, listed: BlockIndexEntry, document: DumpDocument, body: DumpDocument | None
    ) -> UnverifiedStarknetBlock:
        update = document.update
        if update is None or update.hash != listed.hash:
            raise BlockDumpError(f"{listed.place.path}: block {listed.number} is no longer in it")
        try:
            diff = update.diff()
            told = body and body.body and node_block(body.body)
        except InvalidStateDiffError as error:
            raise _inconsistent(listed, "state_diff", error) from None
        except MalformedError as error:
            raise _inconsistent(listed, "transactions", error) from None
        header = (body and body.header) or self.headers.get(listed.hash) or StarknetHeader(hash=listed.hash)
        return UnverifiedStarknetBlock(
            number=listed.number,
            header=header,
            old_root=update.old_root,
            new_root=update.new_root,
            diff=diff,
            body=told or None,
        )


def _inconsistent(listed: BlockIndexEntry, rule: str, error: ValueError) -> InvalidStarknetBlockError:
    return InvalidStarknetBlockError(listed.number, listed.hash, rule, "a consistent one", str(error))


def read_dump(folder: Path, first_block: int | None, report: Report) -> DumpFolder:
    """Return the blocks in `folder`; other documents are reported and skipped.

    A block without a number follows the one before it, from `first_block` on.

    Raises:
        BlockDumpError: It holds no block, or two blocks have one number.
    """
    headers: dict[bytes, StarknetHeader] = {}
    bodies: dict[bytes, FileLocation] = {}
    updates: list[tuple[DumpUpdate, FileLocation]] = []
    class_places: list[FileLocation] = []
    for path in dump_files(folder):
        for place, text in documents(path):
            document = read_document(text)
            if document.header is not None:
                headers[document.header.hash] = _fuller(headers.get(document.header.hash), document.header)
                if document.body is not None:
                    bodies[document.header.hash] = place
            if document.update is not None:
                # The second pass reads the text of the diff again, so it is not kept in memory.
                updates.append((msgspec.structs.replace(document.update, diff_text=b""), place))
            if document.is_class:
                class_places.append(place)
            _report_unused(document, place, report)
    return DumpFolder(_numbered(updates, headers, first_block or 0), headers, bodies, class_places)


def _report_unused(document: DumpDocument, place: FileLocation, report: Report) -> None:
    if document.is_pending:
        report(f"{place.path}: a pending update is passed over: its block is not finished")
    elif document.other is not None:
        report(f"{place.path}: passed over: {document.other}")


def _fuller(known: StarknetHeader | None, other: StarknetHeader) -> StarknetHeader:
    """Return one header from two documents about one block."""
    if known is None:
        return other
    told = {name: value for name, value in msgspec.structs.asdict(other).items() if value is not None}
    return msgspec.structs.replace(known, **told | {"more": known.more | other.more})


def _numbered(
    updates: list[tuple[DumpUpdate, FileLocation]], headers: dict[bytes, StarknetHeader], first_block: int
) -> list[BlockIndexEntry]:
    listed: dict[int, BlockIndexEntry] = {}
    follower = first_block
    for update, place in updates:
        header = headers.get(update.hash)
        told = (update.number, header.number if header else None, number_in_name(place.path), follower)
        number = next(number for number in told if number is not None)
        other = listed.setdefault(number, BlockIndexEntry(number, update.hash, place))
        if other.hash != update.hash:
            raise BlockDumpError(
                f"block {number} is {felt_text(other.hash)} in {other.place.path}"
                f" and {felt_text(update.hash)} in {place.path}"
            )
        follower = number + 1
    return [listed[number] for number in sorted(listed)]
