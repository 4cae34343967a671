"""Import of a dump in a folder into the Starknet chain: `wsnode import alt`."""

import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Final

import msgspec
import trio

from wsnode.starknet.chain import StarknetChain
from wsnode.starknet.dump.class_files import ClassFiles
from wsnode.starknet.dump.folder import DumpFolder, Report, read_dump
from wsnode.starknet.errors import BlockDumpError
from wsnode.starknet.felt import felt_text
from wsnode.starknet.importer import BlockImporter, head_of

# An import ends on Ctrl-C only after the turn in progress.
TURN_SECONDS: Final = 0.25

Progress = Callable[[int, int, int], None]
"""Called after each block, in a thread: its number, the blocks done, the blocks in total."""


class ImportOutcome(msgspec.Struct, frozen=True):
    """Outcome of an import of a Starknet dump; `head` is number and hash of the chain's head, None for a
    chain without blocks.
    """

    head: tuple[int, bytes] | None
    blocks: int
    missing_classes: int
    roots_verified: bool


async def import_folder(
    chain: StarknetChain,
    folder: Path,
    classes: Path | None = None,
    *,
    first_block: int | None = None,
    chain_id: str | None = None,
    verify_roots: bool = True,
    replace: bool = False,
    progress: Progress = lambda *_: None,
    report: Report = lambda _: None,
) -> ImportOutcome:
    """Import the new blocks of `folder`, and return the outcome.

    Another branch than the chain's is refused, or with `replace` takes the place of the blocks above the last
    common one. Classes come from the folder's own documents and from `classes`. `report` gets a message for
    every unused document and class, and for every missing definition.

    Raises:
        InvalidBlockError: A block violates a rule; the blocks before it are part of the chain.
        BlockDumpError: The dump cannot be imported at all, or has a gap; the blocks before the gap are kept.
    """
    files = ClassFiles(report)
    # `_read` only reads, so nothing is lost when Ctrl-C leaves its thread behind.
    read = partial(_read, folder, classes, first_block, files, report)
    dump = await trio.to_thread.run_sync(read, abandon_on_cancel=True)
    after = _last_common_block(chain, dump) if replace else None
    begin = partial(BlockImporter, chain, files.find, verify_roots=verify_roots, after=after)
    intake = await trio.to_thread.run_sync(begin)
    try:
        await trio.to_thread.run_sync(_begin, intake, dump, first_block, chain_id)
        with closing(_Work(dump, intake, files, progress)) as work:
            while await trio.to_thread.run_sync(work.turn):
                pass
    finally:
        intake.close()
        files.close()
    return _outcome(chain, work.taken, intake, report)


def _read(
    folder: Path, classes: Path | None, first_block: int | None, files: ClassFiles, report: Report
) -> DumpFolder:
    dump = read_dump(folder, first_block, report)
    for place in dump.class_places:
        files.add(place)
    if classes is not None:
        files.add_folder(classes)
    return dump


def _last_common_block(chain: StarknetChain, dump: DumpFolder) -> int | None:
    """Return the number of the last common block of a dump on another branch.

    Return None if the dump is on the chain's branch, or shares no block with it.
    """
    with chain.snapshot() as snapshot:
        for listed in dump.blocks:
            row = snapshot.block(listed.number)
            if row is not None and row.hash != listed.hash:
                return listed.number - 1 if listed.number > snapshot.first_block else None
    return None


def _begin(intake: BlockImporter, dump: DumpFolder, first_block: int | None, chain_id: str | None) -> None:
    if intake.head is None and first_block is None and dump.blocks and dump.blocks[0].number > 0:
        first = dump.blocks[0].number
        raise BlockDumpError(
            f"the dump begins at block {first} and the chain is empty; to begin without the blocks below it,"
            f" say --first-block {first}"
        )
    intake.begin(first_block or 0, chain_id)
    intake.fill_missing()
    for listed in dump.blocks:
        if listed.number < intake.next_number:
            intake.check_stored(listed.number, listed.hash)


class _Work:
    """Import of the blocks of a dump that are not stored yet, in turns of `TURN_SECONDS`."""

    def __init__(
        self, dump: DumpFolder, intake: BlockImporter, files: ClassFiles, progress: Progress
    ) -> None:
        first = intake.next_number
        self._blocks = dump.read(first)
        self._total = sum(listed.number >= first for listed in dump.blocks)
        self._intake = intake
        self._files = files
        self._progress = progress
        self.taken = 0

    def close(self) -> None:
        self._blocks.close()

    def turn(self) -> bool:
        """Import blocks for `TURN_SECONDS`; return False when none is left."""
        end = time.monotonic() + TURN_SECONDS
        for block, inline in self._blocks:
            if block.number > self._intake.next_number:
                missing = self._intake.next_number
                raise BlockDumpError(f"block {missing} is missing; the dump goes on with {block.number}")
            self._files.carry(inline)
            self._intake.take(block)
            self.taken += 1
            self._progress(block.number, self.taken, self._total)
            if time.monotonic() > end:
                return True
        return False


def _outcome(chain: StarknetChain, taken: int, intake: BlockImporter, report: Report) -> ImportOutcome:
    with chain.snapshot() as snapshot:
        missing = snapshot.missing_classes()
        head = head_of(snapshot)
    for class_hash, number in missing:
        report(f"block {number} names class {felt_text(class_hash)}, which the dump lacks")
    if intake.unproved:
        report(
            f"{intake.unproved} blocks are stored without their transactions: hashes cannot be recomputed"
            " without chain id (--chain-id), version and sequencer"
        )
    return ImportOutcome(head and head[:2], taken, len(missing), intake.checks_roots)
