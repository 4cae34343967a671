"""Taking a copy of a data folder, beside its writer or without one."""

import io
import re
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.storage.errors import NoChainError
from wsnode.ethereum.storage.folder import FOLDER as ETHEREUM
from wsnode.snapshots import manifest
from wsnode.snapshots.contents import alt_contents, chain_contents
from wsnode.snapshots.manifest import CopiedAlt, CopiedChain, CopiedFile, Manifest
from wsnode.snapshots.pieces import Source, split
from wsnode.snapshots.places import claimed, sync_folder, write_whole
from wsnode.snapshots.streams import alt_stream, chain_streams
from wsnode.starknet.chain import FOLDER as ALT
from wsnode.starknet.chain import Chain as AltChain
from wsnode.store.progress import Progress

OURS: Final = re.compile(r"((eth|alt)-[a-z]+-[0-9]{6}\.zst|manifest\.json)(\.part)?")
"""Names in a folder of a copy."""


def take(data: Path, folder: Path, program: str, progress: Progress) -> Manifest:
    """Copy a data folder's chains into an empty folder, and return what the copy holds.

    Raises:
        ChainError, EngineError, StarknetError, StoreError: A chain cannot be opened or read.
        OccupiedError: The folder holds something else than an unfinished copy.
        TakenError: Another process fills it.
        RestlessError: The chain's writer has too much to do.
        OSError: A file cannot be written.
    """
    with ExitStack() as opened:
        chain, alt = _chains(data, opened)
        left_over = opened.enter_context(claimed(folder, _is_left_over))
        for path in left_over:
            path.unlink()
        taker = Taker(data, folder, progress)
        eth = None if chain is None else taker.take_chain(chain)
        other = None if alt is None else taker.take_alt(alt)
        made = Manifest(manifest.VERSION, program, eth, other, tuple(taker.files))
        sync_folder(folder)
        write_whole(folder / manifest.NAME, manifest.encoded(made))
        return made


def _is_left_over(name: str) -> bool:
    return OURS.fullmatch(name) is not None and name != manifest.NAME


def _chains(data: Path, opened: ExitStack) -> tuple[Chain | None, AltChain | None]:
    has_chain, has_alt = (data / ETHEREUM).exists(), (data / ALT).exists()
    if not has_chain and not has_alt:
        raise NoChainError(data)
    chain = opened.enter_context(Chain.open(data / ETHEREUM, writer=False)) if has_chain else None
    alt = opened.enter_context(AltChain.open(data, writer=False)) if has_alt else None
    return chain, alt


class Taker:
    """Copies chains into a folder, one after another."""

    def __init__(self, data: Path, folder: Path, progress: Progress) -> None:
        self._data = data
        self._folder = folder
        self._progress = progress
        self.files: list[CopiedFile] = []

    def take_chain(self, chain: Chain) -> CopiedChain:
        """Copy the Ethereum chain and return what is copied of it."""
        genesis, rows, state = manifest.ETHEREUM_FILES
        self._split(io.BytesIO(chain.folder.read_genesis()), genesis)
        with chain_streams(chain) as streams:
            self._split(streams.chain, rows)
            self._split(streams.state, state)
        return chain_contents(chain, streams.head, streams.state_root)

    def take_alt(self, alt: AltChain) -> CopiedAlt:
        """Copy the alt chain and return what is copied of it."""
        (rows,) = manifest.ALT_FILES
        with alt_stream(alt) as stream:
            self._split(stream.store, rows)
        return alt_contents(stream.number, stream.hash)

    def _split(self, source: Source, name: str) -> None:
        size = (self._data / name).stat().st_size

        def count(done: int) -> None:
            self._progress.advanced(name, min(done, size), size)

        self.files.append(split(source, name, self._folder, count))
