"""Frames that a client makes, and messages that it reads, however they are cut."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wsnode.load.frames import ReplyReader, masked_frame

pytestmark = pytest.mark.slow


def server_frame(payload: bytes, head: int = 0x81) -> bytes:
    size = len(payload)
    if size < 126:
        return bytes([head, size]) + payload
    if size < 65536:
        return struct.pack("!BBH", head, 126, size) + payload
    return struct.pack("!BBQ", head, 127, size) + payload


SIZES = st.lists(st.sampled_from([0, 1, 125, 126, 127, 65535, 65536]), max_size=3)


@given(SIZES, st.sampled_from([1, 3, 127, 1000, 70_000]))
def test_messages_are_read_however_they_arrive(sizes: list[int], step: int) -> None:
    messages = [bytes(size) for size in sizes]
    stream = b"".join(map(server_frame, messages))
    reader = ReplyReader()
    pieces = (stream[place : place + step] for place in range(0, len(stream), step))
    assert [message for piece in pieces for message in reader.feed(piece)] == messages


def test_fragments_are_joined_and_pings_put_aside() -> None:
    reader = ReplyReader()
    stream = server_frame(b"a", 0x01) + server_frame(b"!", 0x89) + server_frame(b"b", 0x80)
    assert list(reader.feed(stream)) == [b"ab"]
    assert reader.pings == [b"!"]


def test_a_message_may_have_so_many_bytes_and_not_one_more() -> None:
    def head(size: int, opcode: int = 0x81) -> bytes:
        return struct.pack("!BBQ", opcode, 127, size)

    assert list(ReplyReader().feed(head(1 << 30))) == []
    with pytest.raises(ConnectionError, match="more than 1073741824 bytes"):
        list(ReplyReader().feed(head((1 << 30) + 1)))
    # What came in fragments before counts.
    assert list(ReplyReader().feed(server_frame(b"ab", 0x01) + head((1 << 30) - 2, 0x80))) == []
    with pytest.raises(ConnectionError, match="more than 1073741824 bytes"):
        list(ReplyReader().feed(server_frame(b"ab", 0x01) + head((1 << 30) - 1, 0x80)))


def test_a_goodbye_is_an_error() -> None:
    with pytest.raises(ConnectionError, match="going away"):
        list(ReplyReader().feed(server_frame(b"\x03\xe9going away", 0x88)))


@given(st.binary(max_size=200))
def test_a_masked_frame_holds_what_it_was_made_of(payload: bytes) -> None:
    frame = masked_frame(payload)
    start = 2 if len(payload) < 126 else 4
    mask, hidden = frame[start : start + 4], frame[start + 4 :]
    assert (frame[0], frame[1] & 0x80) == (0x81, 0x80)
    assert bytes(byte ^ mask[place % 4] for place, byte in enumerate(hidden)) == payload
