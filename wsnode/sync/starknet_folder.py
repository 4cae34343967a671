"""A dump in a folder into the alt chain: `wsnode import alt`."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import trio

from wsnode.starknet.block import UnverifiedBlock
from wsnode.starknet.chain import Chain
from wsnode.starknet.classes.decode import decode_class
from wsnode.starknet.classes.definition import ContractClass, NotAClassError
from wsnode.starknet.dump.class_files import ClassFiles, WrongClassError, checked
from wsnode.starknet.dump.folder import Dump, Report, read_dump
from wsnode.starknet.errors import DumpError
from wsnode.starknet.felt import felt_text
from wsnode.starknet.intake import Intake, head_of

Progress = Callable[[int, int, int], None]
"""Told after each block: its number, how many blocks are done, how many there are."""


class ImportOutcome(msgspec.Struct, frozen=True):
    """What an import left behind."""

    head: tuple[int, bytes] | None
    blocks: int
    missing_classes: int
    roots_verified: bool


async def import_folder(
    chain: Chain,
    folder: Path,
    classes: Path | None = None,
    *,
    first_block: int | None = None,
    chain_id: str | None = None,
    verify_roots: bool = True,
    progress: Progress = lambda *_: None,
    report: Report = lambda _: None,
) -> ImportOutcome:
    """Return what the chain holds after the blocks of `folder` that it did not hold yet.

    Classes come from the folder's own documents and from `classes`. `report` is told of every document and
    class that was of no use, and of definitions that are missing.

    Raises:
        InvalidBlockError: A block breaks a rule; those before it are part of the chain.
        DumpError: The dump cannot be imported at all, or has a gap; the blocks before that are kept.
    """
    work = _FolderImport(chain, first_block, chain_id, progress, report, verify_roots=verify_roots)
    return await trio.to_thread.run_sync(work.run, folder, classes)


class _FolderImport:
    def __init__(
        self,
        chain: Chain,
        first_block: int | None,
        chain_id: str | None,
        progress: Progress,
        report: Report,
        *,
        verify_roots: bool,
    ) -> None:
        self._chain = chain
        self._first_block = first_block
        self._chain_id = chain_id
        self._progress = progress
        self._report = report
        self._verify_roots = verify_roots
        self._files = ClassFiles(report)
        self._inline: dict[bytes, msgspec.Raw] = {}

    def run(self, folder: Path, classes: Path | None) -> ImportOutcome:
        dump = read_dump(folder, self._first_block, self._report)
        for place in dump.class_places:
            self._files.add(place)
        if classes is not None:
            self._files.add_folder(classes)
        intake = Intake(self._chain, self._find_class, verify_roots=self._verify_roots)
        try:
            return self._take_all(dump, intake)
        finally:
            intake.close()

    def _take_all(self, dump: Dump, intake: Intake) -> ImportOutcome:
        self._begin(dump, intake)
        intake.fill_missing()
        stored, taken = intake.next_number, 0
        for listed in dump.blocks:
            if listed.number < stored:
                intake.check_stored(listed.number, listed.hash)
        total = sum(listed.number >= stored for listed in dump.blocks)
        try:
            for block, inline in dump.read(stored):
                self._take(block, inline, intake)
                taken += 1
                self._progress(block.number, taken, total)
                trio.from_thread.check_cancelled()
        finally:
            intake.flush()
        return self._outcome(taken, intake)

    def _begin(self, dump: Dump, intake: Intake) -> None:
        if intake.head is None and self._first_block is None and dump.blocks and dump.blocks[0].number > 0:
            first = dump.blocks[0].number
            raise DumpError(
                f"the dump begins at block {first} and the chain is empty; to do without the blocks below it,"
                f" say --first-block {first}"
            )
        intake.begin(self._first_block or 0, self._chain_id)

    def _take(self, block: UnverifiedBlock, inline: dict[str, msgspec.Raw], intake: Intake) -> None:
        if block.number > intake.next_number:
            raise DumpError(f"block {intake.next_number} is missing; the dump goes on with {block.number}")
        self._inline = {bytes.fromhex(name[2:].rjust(64, "0")): text for name, text in inline.items()}
        intake.take(block)

    def _find_class(self, class_hash: bytes) -> ContractClass | None:
        try:
            if (text := self._inline.get(class_hash)) is not None:
                return checked(decode_class(bytes(text)), class_hash, "the block's own classes", self._report)
            return self._files.find(class_hash)
        except (NotAClassError, WrongClassError) as error:
            self._report(f"class {felt_text(class_hash)} is refused: {error}")
            return None

    def _outcome(self, taken: int, intake: Intake) -> ImportOutcome:
        with self._chain.snapshot() as snapshot:
            missing = snapshot.missing_classes()
            head = head_of(snapshot)
        for class_hash, number in missing:
            self._report(f"block {number} names class {felt_text(class_hash)}, which the dump lacks")
        return ImportOutcome(head and head[:2], taken, len(missing), intake.checks_roots)
