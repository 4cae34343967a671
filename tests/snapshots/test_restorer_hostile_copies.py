"""Files of a copy or a dump in whose places others have put something else."""

import gzip
import hashlib
import os
from pathlib import Path

import pytest

from wsnode.snapshots import manifest
from wsnode.snapshots.errors import ManifestError, PieceKindError
from wsnode.snapshots.manifest import ManifestFile, Piece
from wsnode.snapshots.pieces import join
from wsnode.starknet.dump import files
from wsnode.starknet.errors import BlockDumpError


def test_a_nested_manifest_is_refused(tmp_path: Path) -> None:
    (tmp_path / manifest.NAME).write_bytes(b'{"version":1,"x":' + b"[" * 200_000 + b"]" * 200_000 + b"}")
    with pytest.raises(ManifestError, match="nested too deeply"):
        manifest.read(tmp_path)


def test_a_manifest_that_is_a_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / manifest.NAME)
    with pytest.raises(ManifestError, match="a pipe"):
        manifest.read(tmp_path)


def test_a_piece_that_is_a_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "piece")
    file = ManifestFile("eth/chain", 0, (Piece("piece", 0, hashlib.sha256().hexdigest()),))
    with (tmp_path / "target").open("wb") as target, pytest.raises(PieceKindError, match="a pipe"):
        join(file, tmp_path, target, lambda _done: None)


def test_a_dump_that_expands_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "SMALL_BYTES", 1 << 16)
    path = tmp_path / "1.json.gz"
    path.write_bytes(gzip.compress(b'{"x":[' + b"0," * 2_000_000 + b"0]}"))
    with pytest.raises(BlockDumpError, match="it expands to"):
        list(files.documents(path))


def test_a_line_of_a_dump_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_LINE_BYTES", 1000)
    path = tmp_path / "1.jsonl"
    path.write_bytes(b"{}\n" + b" " * 998 + b"\n")
    assert len(list(files.documents(path))) == 1
    path.write_bytes(b"{}\n" + b" " * 1000 + b"\n")
    with pytest.raises(BlockDumpError, match="a line of 1000 bytes"):
        list(files.documents(path))
