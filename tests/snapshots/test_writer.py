"""Copies of a folder that is being written, folders made of them, and copies that are damaged."""

import json
import random
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.doctor.damage import STATE, Silence, first_row
from tests.ethereum.lighting import WINDOW, light_folder
from tests.ethereum.live.growing import EMITTERS, TOPICS, GrowingChain, emitting_genesis, growing_chain
from tests.file_limits import files_of_at_most
from tests.store.damaged_bytes import flipped, stored
from wsnode.demo.starknet_chain import BLOCKS, build_starknet
from wsnode.doctor.examine import examine
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.storage.errors import NoChainError
from wsnode.ethereum.storage.folder_kind import FolderKind
from wsnode.ethereum.storage.tables import HEADERS, TABLES
from wsnode.snapshots import manifest, pieces, streams
from wsnode.snapshots.errors import (
    CopyError,
    CorruptSourceError,
    FolderBusyError,
    FolderNotEmptyError,
    ManifestError,
    ManifestVersionError,
    NoManifestError,
    PieceHashError,
    PieceMissingError,
    PieceSizeError,
    WriterBusyError,
)
from wsnode.snapshots.manifest import Manifest
from wsnode.snapshots.restorer import DRAFT, restore
from wsnode.snapshots.target_dir import claimed
from wsnode.snapshots.writer import SnapshotWriter, take
from wsnode.starknet.chain import StarknetChain
from wsnode.starknet.storage.tables import BLOCKS as BLOCKS_TABLE
from wsnode.starknet.storage.tables import TABLES as STARKNET_TABLES
from wsnode.store.table import Table

COPIES = 4
LOGS = [(EMITTERS[1], TOPICS[:2]), (EMITTERS[0], ())]


class Counting:
    """Keeps the progress that is shown."""

    def __init__(self) -> None:
        self.steps: list[tuple[str, int, int]] = []

    def advanced(self, part: str, done: int, total: int) -> None:
        self.steps.append((part, done, total))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with both families."""
    folder = tmp_path_factory.mktemp("copied")
    with growing_chain(folder / "eth") as growing:
        for _ in range(6):
            growing.grow(LOGS)
        growing.reorganise(2, [LOGS, [], LOGS])
    build_starknet(folder)
    (folder / "keys.json").write_text("{}")
    return folder


@pytest.fixture
def copy(data: Path, tmp_path: Path) -> Path:
    """Return a copy of that folder."""
    take(data, tmp_path / "copy", "wsnode test", Silence())
    return tmp_path / "copy"


def require_sound(data: Path) -> None:
    found = examine(data, Silence())
    assert {family: each.faults for family, each in found.items()} == {family: {} for family in found}


def head_of(data: Path) -> tuple[int, str]:
    with Chain.open(data / "eth", writer=False) as chain:
        return chain.head.number, f"0x{chain.head.hash.hex()}"


def test_a_folder_made_of_a_copy_is_sound_and_has_its_heads(data: Path, tmp_path: Path, copy: Path) -> None:
    progress = Counting()
    restored = restore(tmp_path / "data", copy, progress)
    require_sound(tmp_path / "data")
    assert restored.eth is not None
    assert (restored.eth.number, restored.eth.hash) == head_of(tmp_path / "data") == head_of(data)
    assert restored.alt is not None
    with StarknetChain.open(tmp_path / "data", writer=False) as alt, alt.snapshot() as view:
        assert view.head == restored.alt.number == BLOCKS - 1
    assert sorted(path.name for path in (tmp_path / "data").iterdir()) == ["alt", "eth"]
    finished = {(part, done) for part, done, total in progress.steps if done == total}
    assert {each for each in finished if not each[0].startswith("checksums: ")} == {
        (file.name, file.size) for file in restored.files
    }
    assert {("checksums: headers", restored.eth.number + 1), ("checksums: blocks", BLOCKS)} <= finished


def test_a_folder_made_of_a_copy_is_written_on(copy: Path, tmp_path: Path) -> None:
    restored = restore(tmp_path / "data", copy, Silence())
    assert restored.eth is not None
    with Chain.open(tmp_path / "data/eth", writer=True, durable=False) as chain:
        GrowingChain(chain).grow(LOGS)
        assert chain.head.number == restored.eth.number + 1
    require_sound(tmp_path / "data")


def copied(growing: GrowingChain, data: Path, folder: Path) -> Manifest:
    """Copy a chain that this process has open: LMDB opens a file once."""
    folder.mkdir()
    taker = SnapshotWriter(data, folder, Silence())
    eth = taker.take_chain(growing.chain)
    made = Manifest(manifest.VERSION, "wsnode test", eth, None, tuple(taker.files))
    (folder / manifest.NAME).write_bytes(manifest.encoded(made))
    return made


@contextmanager
def busy(growing: GrowingChain, seed: int) -> Iterator[None]:
    """Have another thread grow and reorganise the chain without a pause."""
    over = threading.Event()
    chance = random.Random(seed)

    def write() -> None:
        while not over.is_set():
            depth = chance.randrange(4)
            if depth < len(growing.blocks):
                growing.reorganise(depth, [LOGS] * chance.randrange(depth + 3))

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield
    finally:
        over.set()
        writer.join()


def test_copies_beside_a_writer_end_at_a_head_with_its_state(tmp_path: Path) -> None:
    heads = set()
    with growing_chain(tmp_path / "data/eth") as growing:
        growing.grow(LOGS)
        with busy(growing, 7):
            for number in range(COPIES):
                taken = copied(growing, tmp_path / "data", tmp_path / f"copy{number}")
                assert taken.eth is not None
                heads.add(taken.eth.hash)
    assert len(heads) > 1
    for number in range(COPIES):
        restored = restore(tmp_path / f"data{number}", tmp_path / f"copy{number}", Silence())
        assert restored.eth is not None
        require_sound(tmp_path / f"data{number}")
        with Chain.open(tmp_path / f"data{number}/eth", writer=True) as chain:
            assert f"0x{chain.head.hash.hex()}" == restored.eth.hash
            assert f"0x{chain.state.state_root.hex()}" == restored.eth.state_root


def test_a_copy_of_a_patched_chain_has_its_patches(tmp_path: Path) -> None:
    patch = json.dumps({f"0x{7:040x}": {"balance": "0x5"}}).encode()
    with growing_chain(tmp_path / "data/eth") as growing:
        growing.grow(LOGS)
        growing.chain.patch(patch)
        taken = copied(growing, tmp_path / "data", tmp_path / "copy")
        assert taken.eth is not None
        assert taken.eth.state_root == f"0x{growing.chain.state.state_root.hex()}"
    restore(tmp_path / "other", tmp_path / "copy", Silence())
    with Chain.open(tmp_path / "other/eth", writer=True) as chain:
        assert taken.eth.state_root == f"0x{chain.state.state_root.hex()}"


class Overtaken:
    """Store of a chain that is written to whenever a copy of it begins."""

    def __init__(self, growing: GrowingChain) -> None:
        self._growing = growing

    def copy(self, descriptor: int) -> None:
        self._growing.grow(LOGS)
        self._growing.chain.store.copy(descriptor)


def test_a_copy_begins_in_a_moment_without_a_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with growing_chain(tmp_path / "data/eth") as growing:
        growing.grow(LOGS)
        with monkeypatch.context() as patched:
            begin = streams.PieceStream
            patched.setattr(streams, "TIMEOUT_SECONDS", 0.05)
            patched.setattr(streams, "PieceStream", lambda _store: begin(Overtaken(growing)))
            with pytest.raises(WriterBusyError, match="no copy could begin within"):
                copied(growing, tmp_path / "data", tmp_path / "copy")
        taken = copied(growing, tmp_path / "data", tmp_path / "second")
        assert taken.eth is not None
        assert taken.eth.hash == f"0x{growing.chain.head.hash.hex()}"


def test_a_light_folder_is_copied(tmp_path: Path) -> None:
    with (
        growing_chain(tmp_path / "source") as source,
        light_folder(tmp_path / "light/eth", source) as light,
    ):
        for _ in range(3):
            source.grow(LOGS)
        light.begin(2)
        light.follow()
    taken = take(tmp_path / "light", tmp_path / "copy", "wsnode test", Silence())
    restore(tmp_path / "other", tmp_path / "copy", Silence())
    assert taken.eth is not None
    assert (taken.eth.window, taken.eth.number, taken.eth.hash) == (WINDOW, *head_of(tmp_path / "other"))
    require_sound(tmp_path / "other")


def test_a_full_folder_with_a_window_is_copied(tmp_path: Path) -> None:
    folder, genesis = tmp_path / "full/eth", emitting_genesis()
    with Chain.open(folder, genesis, writer=True, durable=False, kind=FolderKind(2)) as chain:
        growing = GrowingChain(chain)
        for _ in range(5):
            growing.grow(LOGS)
        chain.prune(3)
        # Not all of it: what is left is to be forgotten in the copy.
        assert chain.prune_state(1)
    taken = take(tmp_path / "full", tmp_path / "copy", "wsnode test", Silence())
    restore(tmp_path / "other", tmp_path / "copy", Silence())
    assert taken.eth is not None
    assert (taken.eth.window, taken.eth.number, taken.eth.hash) == (2, *head_of(tmp_path / "other"))
    require_sound(tmp_path / "other")
    with Chain.open(tmp_path / "other/eth", writer=True) as chain:
        while chain.prune_state(1):
            pass
        assert chain.unwind(3)
    require_sound(tmp_path / "other")


def test_a_large_file_has_several_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PIECE_BYTES", 4096)
    with growing_chain(tmp_path / "data/eth") as growing:
        growing.grow(LOGS)
        taken = copied(growing, tmp_path / "data", tmp_path / "copy")
    rows = taken.files[1]
    # Pages are as large as these pieces: the last one is whole.
    assert len(rows.pieces) == rows.size // 4096 > 1
    assert sorted(path.name for path in (tmp_path / "copy").glob("*.zst")) == sorted(
        piece.name for piece in taken.pieces
    )
    restore(tmp_path / "other", tmp_path / "copy", Silence())
    require_sound(tmp_path / "other")


def flip(piece: Path) -> None:
    content = bytearray(piece.read_bytes())
    content[len(content) // 2] ^= 1
    piece.write_bytes(content)


def cut(piece: Path) -> None:
    piece.write_bytes(piece.read_bytes()[:-1])


def lengthen(piece: Path) -> None:
    piece.write_bytes(piece.read_bytes() + b"\0")


@pytest.mark.parametrize("name", ["eth-genesis", "eth-chain", "alt-chain"])
@pytest.mark.parametrize(
    ("damage", "error"),
    [
        (flip, PieceHashError),
        (cut, PieceSizeError),
        (lengthen, PieceSizeError),
        (Path.unlink, PieceMissingError),
    ],
    ids=["flipped", "cut", "lengthened", "missing"],
)
def test_a_damaged_piece_is_named_and_nothing_is_made_of_it(
    copy: Path, tmp_path: Path, name: str, damage: Callable[[Path], None], error: type[CopyError]
) -> None:
    damage(copy / f"{name}-000000.zst")
    with pytest.raises(error, match=f"{name}-000000.zst") as raised:
        restore(tmp_path / "data", copy, Silence())
    assert "\n" not in str(raised.value)
    left = [path.name for path in (tmp_path / "data").glob("*")] if (tmp_path / "data").exists() else []
    assert left in ([], [DRAFT])


def change(copy: Path, **members: object) -> None:
    content = json.loads((copy / manifest.NAME).read_text())
    (copy / manifest.NAME).write_text(json.dumps(content | members))


@pytest.mark.parametrize(
    ("store", "tables", "table"),
    [
        ("eth/chain", TABLES, HEADERS),
        ("eth/chain", TABLES, STATE[0]),
        ("alt/chain", STARKNET_TABLES, BLOCKS_TABLE),
    ],
    ids=["chain", "state", "alt"],
)
def test_nothing_is_made_of_a_copy_of_a_damaged_store(
    data: Path, tmp_path: Path, store: str, tables: Sequence[Table], table: Table
) -> None:
    shutil.copytree(data, tmp_path / "damaged")
    key, value = first_row(data / store, tables, table)
    with flipped(tmp_path / "damaged" / store / "data.mdb", stored(key, value), -1 % len(stored(key, value))):
        take(tmp_path / "damaged", tmp_path / "copy", "wsnode test", Silence())
    with pytest.raises(CorruptSourceError, match=f"{table.name}: row 0x{key.hex()} does not have"):
        restore(tmp_path / "data", tmp_path / "copy", Silence())
    assert [path.name for path in (tmp_path / "data").iterdir()] == [DRAFT]


def test_a_manifest_of_another_version_is_refused(copy: Path, tmp_path: Path) -> None:
    for version in (1, 3):
        change(copy, version=version, shape="unknown")
        told = f"its version is {version}, this program knows 2"
        with pytest.raises(ManifestVersionError, match=told):
            restore(tmp_path / "data", copy, Silence())


def test_a_manifest_that_names_other_files_is_refused(copy: Path, tmp_path: Path) -> None:
    change(copy, files=[{"name": "../keys.json", "size": 0, "pieces": []}])
    with pytest.raises(ManifestError, match=r"it has the files \.\./keys\.json"):
        restore(tmp_path / "data", copy, Silence())


@pytest.mark.parametrize("text", ["", "[]", "{", '{"version": 1}', "\x00"])
def test_what_is_no_manifest_is_refused(copy: Path, tmp_path: Path, text: str) -> None:
    (copy / manifest.NAME).write_text(text)
    with pytest.raises((ManifestError, ManifestVersionError)):
        restore(tmp_path / "data", copy, Silence())


def test_pieces_of_another_chain_are_refused(copy: Path, tmp_path: Path) -> None:
    content = json.loads((copy / manifest.NAME).read_text())
    change(copy, eth=content["eth"] | {"number": 1})
    with pytest.raises(CopyError, match=r"eth of the snapshot has ManifestChain\(.*number=7.*number=1"):
        restore(tmp_path / "data", copy, Silence())
    assert [path.name for path in (tmp_path / "data").iterdir()] == [DRAFT]


def test_a_folder_with_pieces_alone_is_no_copy(copy: Path, tmp_path: Path) -> None:
    (copy / manifest.NAME).unlink()
    with pytest.raises(NoManifestError, match="is no finished snapshot"):
        restore(tmp_path / "data", copy, Silence())


def test_a_folder_that_holds_something_is_not_written_to(data: Path, copy: Path, tmp_path: Path) -> None:
    with pytest.raises(FolderNotEmptyError, match=r"holds manifest\.json already"):
        take(data, copy, "wsnode test", Silence())
    (tmp_path / "full").mkdir()
    (tmp_path / "full/notes.txt").write_text("mine")
    with pytest.raises(FolderNotEmptyError, match=r"holds notes\.txt already"):
        take(data, tmp_path / "full", "wsnode test", Silence())
    with pytest.raises(FolderNotEmptyError, match=r"holds notes\.txt already"):
        restore(tmp_path / "full", copy, Silence())
    with pytest.raises(FolderNotEmptyError, match="holds alt already"):
        restore(data, copy, Silence())


def test_a_folder_without_room_is_named(data: Path, copy: Path, tmp_path: Path) -> None:
    with files_of_at_most(64), pytest.raises(OSError, match=f"{tmp_path}/copied"):
        take(data, tmp_path / "copied", "wsnode test", Silence())
    with files_of_at_most(64), pytest.raises(OSError, match=f"{tmp_path}/restored"):
        restore(tmp_path / "restored", copy, Silence())


def test_what_an_ended_attempt_left_is_replaced(data: Path, copy: Path, tmp_path: Path) -> None:
    unfinished = tmp_path / "unfinished"
    shutil.copytree(copy, unfinished)
    (unfinished / manifest.NAME).rename(unfinished / f"{manifest.NAME}.part")
    (unfinished / "eth-chain-000000.zst").rename(unfinished / "eth-chain-000007.zst.part")
    taken = take(data, unfinished, "wsnode test", Silence())
    assert {path.name for path in unfinished.iterdir()} == {
        manifest.NAME,
        *(piece.name for piece in taken.pieces),
    }
    (tmp_path / "data" / DRAFT / "eth").mkdir(parents=True)
    (tmp_path / "data" / DRAFT / "eth/genesis.json").write_text("half")
    restore(tmp_path / "data", unfinished, Silence())
    require_sound(tmp_path / "data")


def test_a_folder_is_filled_by_one_process_at_a_time(data: Path, copy: Path, tmp_path: Path) -> None:
    with claimed(tmp_path / "one", lambda _name: False):
        with pytest.raises(FolderBusyError, match="another process is filling"):
            take(data, tmp_path / "one", "wsnode test", Silence())
        with pytest.raises(FolderBusyError):
            restore(tmp_path / "one", copy, Silence())


def test_a_folder_without_chains_has_nothing_to_copy(tmp_path: Path) -> None:
    with pytest.raises(NoChainError):
        take(tmp_path / "none", tmp_path / "copy", "wsnode test", Silence())
