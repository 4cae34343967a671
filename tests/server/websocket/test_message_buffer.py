"""The parts of an unfinished message, short and long ones."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.drawing import examples
from wsnode.server.websocket.message_buffer import PART_BYTES, MessageBuffer

SIZES = st.one_of(st.integers(0, 100), st.integers(PART_BYTES - 100, PART_BYTES + 100))


@settings(max_examples=examples(100))
@given(st.lists(st.tuples(SIZES, st.integers(0, 255)), max_size=12))
def test_what_came_is_joined_in_its_order(drawn: list[tuple[int, int]]) -> None:
    payloads = [bytes((byte,)) * size for size, byte in drawn]
    parts = MessageBuffer()
    for payload in payloads:
        parts.add(payload)

    assert len(parts) == sum(map(len, payloads))
    assert parts.join() == b"".join(payloads)


def test_a_long_part_is_kept_as_it_came_and_many_short_ones_as_few() -> None:
    parts = MessageBuffer()
    long = bytes(PART_BYTES)
    for payload in (long, *[b"x"] * (2 * PART_BYTES), long):
        parts.add(payload)

    first, *gathered, last = parts._kept
    assert first is last is long
    assert [len(part) for part in gathered] == [PART_BYTES, PART_BYTES]
