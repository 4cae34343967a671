"""Restoring of a copy: no part of the data folder is in its place before all of it is verified."""

import os
import shutil
from pathlib import Path
from typing import Final

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.storage import state_patches
from wsnode.ethereum.storage.folder import FOLDER as ETHEREUM
from wsnode.ethereum.storage.tables import TABLES as ETHEREUM_TABLES
from wsnode.snapshots import manifest
from wsnode.snapshots.errors import CorruptSourceError, SnapshotContentError
from wsnode.snapshots.manifest import (
    Manifest,
    ManifestChain,
    ManifestFile,
    ManifestStarknet,
    chain_contents,
    starknet_contents,
)
from wsnode.snapshots.pieces import join, require_sizes
from wsnode.snapshots.target_dir import claimed, sync_folder
from wsnode.starknet.chain import FOLDER as STARKNET
from wsnode.starknet.chain import StarknetChain
from wsnode.starknet.storage.tables import TABLES as STARKNET_TABLES
from wsnode.store.private import make_private_folder
from wsnode.store.table import Progress, check_rows

DRAFT: Final = ".restoring"
"""Name of the folder in which parts lie until they are verified."""


def restore(data: Path, folder: Path, progress: Progress) -> Manifest:
    """Restore a copy in `folder` to a data folder, and return its manifest.

    Raises:
        NoManifestError, ManifestError, ManifestVersionError: There is no copy in a known form.
        PieceMissingError, PieceKindError, PieceSizeError, PieceHashError, SnapshotContentError,
            CorruptSourceError: The copy is damaged.
        FolderNotEmptyError, FolderBusyError: The data folder is not empty, or another process fills it.
        ChainError, EngineError, StarknetError, StoreError: A store of the copy cannot be opened.
        OSError: A file cannot be read or written.
    """
    given = manifest.read(folder)
    require_sizes(folder, given.pieces)
    with claimed(data, lambda name: name == DRAFT) as left_over:
        for path in left_over:
            shutil.rmtree(path)
        draft = data / DRAFT
        for file in given.files:
            _write(file, folder, draft, progress)
        _require_content(draft, given, progress)
        _put_in_place(draft, data)
    return given


def _write(file: ManifestFile, folder: Path, draft: Path, progress: Progress) -> None:
    path = draft / file.name
    make_private_folder(path.parent)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as target:
        join(file, folder, target, lambda done: progress.advanced(file.name, done, file.size))
        target.flush()
        os.fsync(descriptor)


def _require_content(draft: Path, given: Manifest, progress: Progress) -> None:
    if given.eth is not None:
        with Chain.open(draft / ETHEREUM, writer=False) as chain:
            check_rows(chain.store, ETHEREUM_TABLES, progress, _refuse_damage)
            _require_chain(chain, given.eth)
    if given.alt is not None:
        with StarknetChain.open(draft, writer=False) as starknet:
            check_rows(starknet.store, STARKNET_TABLES, progress, _refuse_damage)
            _require_starknet(starknet, given.alt)


def _refuse_damage(table: str, fault: str) -> None:
    raise CorruptSourceError(table, fault)


def _require_chain(chain: Chain, wanted: ManifestChain) -> None:
    with chain.snapshot() as view:
        root = state_patches.state_root(view.reader, view.number)
        _require(ETHEREUM, chain_contents(chain, view.head, root), wanted)


def _require_starknet(starknet: StarknetChain, wanted: ManifestStarknet) -> None:
    with starknet.snapshot() as view:
        block = None if view.head is None else view.block(view.head)
        _require(STARKNET, starknet_contents(view.head, None if block is None else block.hash), wanted)


def _require(family: str, found: object, wanted: object) -> None:
    if found != wanted:
        raise SnapshotContentError(family, found, wanted)


def _put_in_place(draft: Path, data: Path) -> None:
    for family in (STARKNET, ETHEREUM):
        if (draft / family).exists():
            for folder in (draft / family).iterdir():
                if folder.is_dir():
                    sync_folder(folder)
            sync_folder(draft / family)
            (draft / family).rename(data / family)
            sync_folder(data)
    shutil.rmtree(draft)
