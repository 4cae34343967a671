"""Cursors are text that says one position."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wsnode.ethereum.live.position import ALL, BEGINNING, Position
from wsnode.ethereum.logs.cursor import LogCursor
from wsnode.ethereum.primitives.values import Hash32

positions = st.builds(
    Position,
    number=st.integers(-1, 1 << 54),
    hash=st.binary(min_size=32, max_size=32).map(Hash32),
    logs=st.integers(0, ALL),
)


@given(position=positions | st.just(BEGINNING))
def test_a_cursor_says_the_position_it_was_written_for(position: Position) -> None:
    text = str(position)
    assert Position.parse(text) == position
    assert set(text) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=")


@given(position=positions, cut=st.integers(1, 10))
def test_a_part_of_a_cursor_is_none(position: Position, cut: int) -> None:
    with pytest.raises(ValueError, match=r"^invalid cursor$"):
        Position.parse(str(position)[:-cut])


@pytest.mark.parametrize(
    ("text", "position"),
    [
        (
            "AQAAAAAAAAAHEREREREREREREREREREREREREREREREREREREREREREAAAAD",
            Position(7, Hash32(b"\x11" * 32), 3),
        ),
        ("Af__________AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAD_____", BEGINNING),
    ],
    ids=["block 7", "beginning"],
)
def test_cursors_of_the_first_version_go_on_working(text: str, position: Position) -> None:
    assert Position.parse(text) == position


@given(position=positions)
def test_a_cursor_has_sixty_characters(position: Position) -> None:
    assert len(str(position)) == 60


@pytest.mark.parametrize("logs", [-1, ALL + 1])
def test_a_place_in_another_block_is_no_position(logs: int) -> None:
    with pytest.raises(ValueError, match=r"^invalid cursor$"):
        Position.parse(str(LogCursor(7, Hash32(bytes(32)), logs)))


def test_a_cursor_of_pages_is_no_position() -> None:
    with pytest.raises(ValueError, match=r"^invalid cursor$"):
        Position.parse(str(LogCursor(7, Hash32(bytes(32)), 0, bytes(8))))


@pytest.mark.parametrize("value", ["", "0x1", "AQ==", "é", 7, None, [], {}, "A" * 60, "_" * 60], ids=repr)
def test_anything_else_is_no_cursor(value: object) -> None:
    with pytest.raises(ValueError, match=r"^invalid cursor$"):
        Position.parse(value)
