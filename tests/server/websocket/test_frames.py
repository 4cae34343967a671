"""The hot path against the library's own parser: same messages, same bytes, same end."""

import itertools
import struct
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from websockets.extensions import Extension
from websockets.extensions.permessage_deflate import PerMessageDeflate
from websockets.frames import CTRL_OPCODES, CloseCode, Frame, Opcode
from websockets.protocol import Protocol, Side, State
from websockets.speedups import apply_mask

from tests.drawing import examples
from wsnode.server.websocket.frames import LONG_BYTES, Framing, text_frame

LIMIT = 300
LONG = st.sampled_from([1, 40, 126, LONG_BYTES])
"""Where a fragment counts as long: most of what is drawn is shorter than where it does in a node."""


def masked(first: int, payload: bytes, mask: bytes = b"\x01\x80\x33\xff", *, width: int = 0) -> bytes:
    """A client's frame; `width` 126 or 127 takes a longer length field than the payload needs."""
    size = len(payload)
    if width == 127 or size > 65535:
        head = struct.pack("!BBQ", first, 0xFF, size)
    elif width == 126 or size > 125:
        head = struct.pack("!BBH", first, 0xFE, size)
    else:
        head = struct.pack("!BB", first, 0x80 | size)
    return head + mask + apply_mask(payload, mask)


class Lenient(Protocol):
    """The library's parser without its objection to a close inside an unfinished message."""

    def recv_frame(self, frame: Frame) -> None:
        if frame.opcode is Opcode.CLOSE:
            self.current_size = None
        super().recv_frame(frame)


class Judge:
    """The library's parser alone, with the check of UTF-8 that it leaves to its users."""

    def __init__(self, extensions: Sequence[Extension]) -> None:
        self.protocol = Lenient(Side.SERVER, max_size=LIMIT)
        self.protocol.extensions = list(extensions)
        self.messages: list[bytes] = []
        self.writes: list[bytes] = []
        self.parts: list[Frame] = []

    def receive(self, data: bytes) -> None:
        # Byte by byte, so that what one frame does is seen before the next one is parsed.
        for position in range(len(data)):
            self.protocol.receive_data(data[position : position + 1])
            self.take_note()

    def receive_eof(self) -> None:
        self.protocol.receive_eof()
        self.take_note()

    def take_note(self) -> None:
        for frame in self.protocol.events_received():
            assert isinstance(frame, Frame)
            if frame.opcode not in CTRL_OPCODES:
                self.parts.append(frame)
                if frame.fin:
                    self.finish()
        self.writes += self.protocol.data_to_send()

    def finish(self) -> None:
        payload = b"".join(bytes(frame.data) for frame in self.parts)
        text = self.parts[0].opcode is Opcode.TEXT
        self.parts = []
        try:
            # After our close frame, messages are ignored.
            if text and self.protocol.state is State.OPEN:
                payload.decode()
        except UnicodeDecodeError as error:
            self.protocol.fail(CloseCode.INVALID_DATA, f"{error.reason} at position {error.start}")
        else:
            self.messages.append(payload)


def deflate() -> PerMessageDeflate:
    return PerMessageDeflate(True, True, 15, 15)


def compressed(payload: bytes) -> bytes:
    return bytes(deflate().encode(Frame(Opcode.TEXT, payload)).data)


payloads = st.one_of(
    st.binary(max_size=LIMIT + 20),
    st.text(max_size=60).map(str.encode),
    st.integers(0, LIMIT + 20).map(lambda size: b"x" * size),
)
masks = st.binary(min_size=4, max_size=4)
whole = st.builds(
    masked, st.sampled_from([0x81, 0x82]), payloads, masks, width=st.sampled_from([0, 0, 126, 127])
)
pieces = st.builds(masked, st.sampled_from([0x01, 0x02, 0x00, 0x80, 0x80]), payloads, masks)
control = st.builds(masked, st.sampled_from([0x89, 0x8A]), st.binary(max_size=125), masks)
closes = st.builds(
    masked,
    st.just(0x88),
    st.one_of(
        st.just(b""),
        st.binary(max_size=40),
        st.builds(
            lambda code, reason: struct.pack("!H", code) + reason.encode(),
            st.integers(990, 5010),
            st.text(max_size=20),
        ),
    ),
    masks,
)
deflated = st.builds(
    masked, st.sampled_from([0xC1, 0xC1, 0x41]), st.one_of(payloads, payloads.map(compressed)), masks
)
wrong = st.one_of(
    st.builds(masked, st.integers(0, 255), payloads, masks),
    st.builds(text_frame, payloads),
    st.binary(max_size=30),
    st.just(struct.pack("!BBQ", 0x81, 0xFF, 2**63)),
)
often = st.one_of(whole, whole, whole, control, pieces)
streams = st.lists(st.one_of(often, often, often, often, deflated, closes, wrong), max_size=12).map(b"".join)


def read(framing: Framing, data: bytes) -> list[bytes]:
    """Return the messages of as many turns as it takes."""
    messages = framing.receive(data)
    while framing.has_more:
        messages += framing.receive(b"")
    return messages


def cut(stream: bytes, places: list[int]) -> list[bytes]:
    edges = sorted({place % (len(stream) + 1) for place in places} | {0, len(stream)})
    return [stream[start:stop] for start, stop in itertools.pairwise(edges)]


@pytest.mark.slow
@pytest.mark.parametrize("extended", [False, True], ids=["plain", "deflate"])
@settings(max_examples=examples(400))
@given(stream=streams, places=st.lists(st.integers(0, 2000), max_size=12), long=LONG)
def test_every_stream_is_read_as_the_library_reads_it(
    extended: bool, stream: bytes, places: list[int], long: int
) -> None:
    judge = Judge([deflate()] if extended else [])
    framing = Framing(LIMIT, [deflate()] if extended else [], long_bytes=long)
    messages = []
    for chunk in cut(stream, places):
        judge.receive(chunk)
        messages += read(framing, chunk)

        assert messages == judge.messages
        assert framing.writes == judge.writes
        assert framing.closed == (judge.protocol.state is not State.OPEN)
    judge.receive_eof()
    framing.receive_eof()
    assert framing.writes == judge.writes


@pytest.mark.slow
@settings(max_examples=examples(200))
@given(stream=streams, place=st.integers(0, 2000), code=st.sampled_from([1000, 1001, 1011, 1012]), long=LONG)
def test_a_close_of_ours_leaves_the_rest_to_the_library(
    stream: bytes, place: int, code: int, long: int
) -> None:
    judge, framing = Judge([]), Framing(LIMIT, long_bytes=long)
    before, after = stream[:place], stream[place:]
    judge.receive(before)
    messages = read(framing, before)
    if judge.protocol.state is State.OPEN:
        judge.protocol.send_close(code, "bye")
        judge.take_note()
    framing.close(code, "bye")
    said = list(judge.messages)
    judge.receive(after)
    messages += read(framing, after)

    assert framing.writes == judge.writes
    assert messages == said


def test_an_idle_connection_keeps_no_parser() -> None:
    framing = Framing(LIMIT)
    framing.receive(masked(0x89, b"ping") + masked(0x01, b"a") + masked(0x80, b"b") + masked(0x81, b"c"))

    assert framing._protocol is None
    assert framing.output_bytes == 0


def test_a_large_message_is_not_looked_at_until_it_is_whole() -> None:
    framing = Framing(10_000)
    frame = masked(0x82, b"z" * 9000)
    received = [framing.receive(frame[position : position + 1]) for position in range(len(frame))]

    assert received[-1] == [b"z" * 9000]
    assert not any(received[:-1])


def test_the_parser_gets_nothing_of_a_long_fragment_but_its_head() -> None:
    framing = Framing(1000, long_bytes=100)
    beginning, end = masked(0x01, b"y" * 500), masked(0x80, b"z" * 400)
    for byte in (beginning + end)[:-1]:
        assert framing.receive(bytes((byte,))) == []
        assert framing._protocol is None or len(framing._protocol.reader.buffer) == 0
    # All that was sent is kept once, but for the heads.
    assert framing.output_bytes == 500 + 399

    assert framing.receive(end[-1:]) == [b"y" * 500 + b"z" * 400]
    assert framing.output_bytes == 0


def test_the_long_fragments_of_a_compressed_message_are_left_to_the_extension() -> None:
    message = bytes(range(256))
    sent = compressed(message)
    framing = Framing(LIMIT, [deflate()], long_bytes=10)
    frames = masked(0x42, sent[:100]) + masked(0x80, sent[100:])

    assert [message for byte in frames for message in framing.receive(bytes((byte,)))] == [message]


def test_a_message_of_long_fragments_is_refused_where_the_head_of_one_says_too_much() -> None:
    framing = Framing(1000, long_bytes=100)
    assert framing.receive(masked(0x01, b"y" * 500)[:-1]) == []
    assert framing.receive(masked(0x01, b"y" * 500)[-1:] + masked(0x00, b"z" * 501)[:8]) == []

    assert framing.close_code == CloseCode.MESSAGE_TOO_BIG
    assert framing.output_bytes == 0


@pytest.mark.parametrize(
    "payload", [b"", b"\x03\xe8", b"\x03\xe9going away"], ids=["empty", "code", "reason"]
)
def test_a_close_inside_an_unfinished_message_is_answered_as_any_other(payload: bytes) -> None:
    # RFC 6455, section 5.4: control frames may be injected in the middle of a fragmented message.
    framing = Framing(LIMIT)
    stream = masked(0x01, b"half") + masked(0x89, b"?") + masked(0x88, payload)
    messages = [message for byte in stream for message in framing.receive(bytes((byte,)))]

    assert messages == []
    assert framing.writes == [b"\x8a\x01?", bytes((0x88, len(payload))) + payload, b""]
    assert framing.output_bytes == 0


def test_the_answer_to_our_close_may_be_inside_an_unfinished_message() -> None:
    framing = Framing(LIMIT)
    framing.receive(masked(0x01, b"half"))
    framing.close(1001, "bye")
    framing.receive(masked(0x88, b"\x03\xe9bye"))

    assert framing.close_code == CloseCode.GOING_AWAY
    assert framing.writes == [b"\x88\x05\x03\xe9bye", b""]
