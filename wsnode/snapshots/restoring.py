"""Making a data folder of a copy: nothing of it is in its place before all of it is verified."""

import os
import shutil
from pathlib import Path
from typing import Final

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import BlockNumber, Hash32
from wsnode.ethereum.storage.folder import FOLDER as ETHEREUM
from wsnode.snapshots import manifest
from wsnode.snapshots.contents import alt_contents, chain_contents
from wsnode.snapshots.errors import ContentError
from wsnode.snapshots.manifest import CopiedAlt, CopiedChain, CopiedFile, Manifest
from wsnode.snapshots.pieces import join, require_sizes
from wsnode.snapshots.places import claimed, sync_folder
from wsnode.starknet.chain import FOLDER as ALT
from wsnode.starknet.chain import Chain as AltChain
from wsnode.store.progress import Progress

DRAFT: Final = ".restoring"
"""Where the folder's parts lie until they are verified."""


def restore(data: Path, folder: Path, progress: Progress) -> Manifest:
    """Make a data folder of a copy in `folder`, and return what it holds.

    Raises:
        NoManifestError, ManifestError, ManifestVersionError: There is no copy that is understood here.
        PieceMissingError, PieceSizeError, PieceHashError, ContentError: It is damaged.
        OccupiedError, TakenError: The data folder holds something, or is being filled.
        ChainError, EngineError, StarknetError, StoreError: What it holds cannot be opened.
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
        _require_content(draft, given)
        _put_in_place(draft, data)
    return given


def _write(file: CopiedFile, folder: Path, draft: Path, progress: Progress) -> None:
    path = draft / file.name
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as target:
        join(file, folder, target, lambda done: progress.advanced(file.name, done, file.size))
        target.flush()
        os.fsync(descriptor)


def _require_content(draft: Path, given: Manifest) -> None:
    if given.eth is not None:
        with Chain.open(draft / ETHEREUM, writer=False) as chain:
            _require_chain(chain, given.eth)
    if given.alt is not None:
        with AltChain.open(draft, writer=False) as alt:
            _require_alt(alt, given.alt)


def _require_chain(chain: Chain, wanted: CopiedChain) -> None:
    _, number, block_hash, root = chain.state.committed()
    _require(ETHEREUM, chain_contents(chain, chain.head, root), wanted)
    if not chain.is_light:
        _require(ETHEREUM, Head(BlockNumber(number), Hash32(block_hash)), chain.head)


def _require_alt(alt: AltChain, wanted: CopiedAlt) -> None:
    with alt.snapshot() as view:
        block = None if view.head is None else view.block(view.head)
        _require(ALT, alt_contents(view.head, None if block is None else block.hash), wanted)


def _require(family: str, found: object, wanted: object) -> None:
    if found != wanted:
        raise ContentError(family, found, wanted)


def _put_in_place(draft: Path, data: Path) -> None:
    for family in (ALT, ETHEREUM):
        if (draft / family).exists():
            for folder in (draft / family).iterdir():
                if folder.is_dir():
                    sync_folder(folder)
            sync_folder(draft / family)
            (draft / family).rename(data / family)
            sync_folder(data)
    shutil.rmtree(draft)
