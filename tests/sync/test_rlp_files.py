import gzip
import io
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wsnode.sync import rlp_files
from wsnode.sync.errors import SourceError
from wsnode.sync.rlp_files import RlpFiles, cut_blocks


def rlp_list(content: bytes) -> bytes:
    if len(content) < 56:
        return bytes([0xC0 + len(content)]) + content
    length = len(content).to_bytes((len(content).bit_length() + 7) // 8, "big")
    return bytes([0xF7 + len(length)]) + length + content


def cut(content: bytes) -> list[bytes]:
    return [block.encoded for block in cut_blocks(io.BytesIO(content), "chain.rlp")]


def all_blocks(names: Sequence[Path]) -> list[bytes]:
    with RlpFiles([str(name) for name in names]) as source:
        found: list[bytes] = []
        while batch := source.next_batch():
            found += [block.encoded for block in batch]
        return found


lists = st.lists(st.binary(max_size=300).map(rlp_list), max_size=10)


@given(lists)
def test_what_was_joined_is_cut_again(blocks: list[bytes]) -> None:
    assert cut(b"".join(blocks)) == blocks


@given(blocks=lists.filter(bool), data=st.data())
def test_a_file_cut_short_says_where_its_last_block_begins(blocks: list[bytes], data: st.DataObject) -> None:
    content = b"".join(blocks)
    missing = data.draw(st.integers(1, len(blocks[-1])))
    whole = blocks[:-1]
    if missing == len(blocks[-1]):
        assert cut(content[:-missing]) == whole
        return
    rest = cut_blocks(io.BytesIO(content[:-missing]), "chain.rlp")
    assert [next(rest).encoded for _ in whole] == whole
    with pytest.raises(SourceError, match="the file ends inside") as caught:
        next(rest)
    assert caught.value.offset == len(b"".join(whole))


def test_other_bytes_are_no_block() -> None:
    with pytest.raises(SourceError, match=r"chain\.rlp: byte 2: no block begins here \(found 0x7b"):
        cut(rlp_list(b"a") + b'{"not": "a block"}')


def test_an_absurd_length_is_refused_before_it_is_read() -> None:
    with pytest.raises(SourceError, match="more than any block has"):
        cut(b"\xff" + b"\xff" * 8)


def test_a_block_may_have_so_many_bytes_and_not_one_more() -> None:
    def head(size: int) -> bytes:
        return b"\xfb" + size.to_bytes(4, "big")

    # What is read of the file tells that the size was taken.
    with pytest.raises(SourceError, match=r"after 3 of 67108864 bytes"):
        cut(head(64 * 1024 * 1024) + bytes(3))
    with pytest.raises(SourceError, match="67108865 bytes are announced, more than any block has"):
        cut(head(64 * 1024 * 1024 + 1) + bytes(3))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"chain\.rlp: byte 0: No such file"):
        RlpFiles([str(tmp_path / "chain.rlp")])


def test_gzip_is_known_by_its_content(tmp_path: Path) -> None:
    blocks = [rlp_list(bytes(100)), rlp_list(b"b")]
    (tmp_path / "packed").write_bytes(gzip.compress(blocks[0]) + gzip.compress(blocks[1]))
    (tmp_path / "plain").write_bytes(blocks[1])
    assert all_blocks([tmp_path / "packed", tmp_path / "plain"]) == [*blocks, blocks[1]]


def test_a_gzip_file_cut_short_gives_what_it_holds_and_then_says_so(tmp_path: Path) -> None:
    blocks = [rlp_list(bytes([n]) * 1000) for n in range(100)]
    packed = gzip.compress(b"".join(blocks))
    (tmp_path / "chain.rlp.gz").write_bytes(packed[:-20])
    with RlpFiles([str(tmp_path / "chain.rlp.gz")]) as source:
        found = [block.encoded for block in source.next_batch()]
        assert found
        with pytest.raises(SourceError, match="compressed file ends inside"):
            source.next_batch()
    assert found == blocks[: len(found)]


def test_a_damaged_gzip_file_says_so(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(rlp_list(bytes(range(256)) * 8)))
    packed[len(packed) // 2] ^= 0xFF
    (tmp_path / "chain.rlp.gz").write_bytes(packed)
    with pytest.raises(SourceError, match="the compressed file"):
        all_blocks([tmp_path / "chain.rlp.gz"])


def test_batches_are_bounded_in_blocks_and_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "small").write_bytes(rlp_list(b"a") * 10)
    monkeypatch.setattr(rlp_files, "BATCH_BLOCKS", 4)
    with RlpFiles([str(tmp_path / "small")]) as source:
        assert [len(source.next_batch()) for _ in range(4)] == [4, 4, 2, 0]
    monkeypatch.setattr(rlp_files, "BATCH_BYTES", 3)
    with RlpFiles([str(tmp_path / "small")]) as source:
        assert len(source.next_batch()) == 2


def test_the_position_reaches_the_whole(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(rlp_list(bytes(1000)))
    (tmp_path / "b").write_bytes(rlp_list(bytes(2000)))
    with RlpFiles([str(tmp_path / "a"), str(tmp_path / "b")]) as source:
        while source.next_batch():
            pass
        assert source.position().read == source.position().whole == 1003 + 2003
