"""Writing of a copy of a data folder, beside its writer or without one."""

import io
import re
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.storage.errors import NoChainError
from wsnode.ethereum.storage.folder import FOLDER as ETHEREUM
from wsnode.snapshots import manifest
from wsnode.snapshots.manifest import (
    Manifest,
    ManifestChain,
    ManifestFile,
    ManifestStarknet,
    chain_contents,
    starknet_contents,
)
from wsnode.snapshots.pieces import ByteSource, split
from wsnode.snapshots.streams import chain_stream, starknet_stream
from wsnode.snapshots.target_dir import claimed, sync_folder, write_whole
from wsnode.starknet.chain import FOLDER as STARKNET
from wsnode.starknet.chain import StarknetChain
from wsnode.store.table import Progress

OURS: Final = re.compile(r"((eth|alt)-[a-z]+-[0-9]{6}\.zst|manifest\.json)(\.part)?")
"""Names of files in a copy's folder."""


def take(data: Path, folder: Path, program: str, progress: Progress) -> Manifest:
    """Copy a data folder's chains into an empty folder, and return the copy's manifest.

    Raises:
        ChainError, EngineError, StarknetError, StoreError: A chain cannot be opened or read.
        FolderNotEmptyError: The folder has other contents than an unfinished copy.
        FolderBusyError: Another process fills it.
        WriterBusyError: The chain's writer left no moment at which a copy could begin.
        OSError: A file cannot be written.
    """
    with ExitStack() as opened:
        chain, starknet = _chains(data, opened)
        left_over = opened.enter_context(claimed(folder, _is_left_over))
        for path in left_over:
            path.unlink()
        taker = SnapshotWriter(data, folder, progress)
        eth = None if chain is None else taker.take_chain(chain)
        other = None if starknet is None else taker.take_starknet(starknet)
        made = Manifest(manifest.VERSION, program, eth, other, tuple(taker.files))
        sync_folder(folder)
        write_whole(folder / manifest.NAME, manifest.encoded(made))
        return made


def _is_left_over(name: str) -> bool:
    return OURS.fullmatch(name) is not None and name != manifest.NAME


def _chains(data: Path, opened: ExitStack) -> tuple[Chain | None, StarknetChain | None]:
    has_chain, has_starknet = (data / ETHEREUM).exists(), (data / STARKNET).exists()
    if not has_chain and not has_starknet:
        raise NoChainError(data)
    chain = opened.enter_context(Chain.open(data / ETHEREUM, writer=False)) if has_chain else None
    starknet = opened.enter_context(StarknetChain.open(data, writer=False)) if has_starknet else None
    return chain, starknet


class SnapshotWriter:
    """Writer of a snapshot, which copies one chain after another into a folder."""

    def __init__(self, data: Path, folder: Path, progress: Progress) -> None:
        self._data = data
        self._folder = folder
        self._progress = progress
        self.files: list[ManifestFile] = []

    def take_chain(self, chain: Chain) -> ManifestChain:
        genesis, rows = manifest.ETHEREUM_FILES
        self._split(io.BytesIO(chain.folder.read_genesis()), genesis)
        with chain_stream(chain) as stream:
            self._split(stream.store, rows)
        return chain_contents(chain, stream.head, stream.state_root)

    def take_starknet(self, starknet: StarknetChain) -> ManifestStarknet:
        (rows,) = manifest.STARKNET_FILES
        with starknet_stream(starknet) as stream:
            self._split(stream.store, rows)
        return starknet_contents(stream.number, stream.hash)

    def _split(self, source: ByteSource, name: str) -> None:
        size = (self._data / name).stat().st_size

        def count(done: int) -> None:
            self._progress.advanced(name, min(done, size), size)

        self.files.append(split(source, name, self._folder, count))
