"""A cursor's text says its place, and of which filter it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wsnode.ethereum.logs.cursor import DIGEST, LogCursor
from wsnode.ethereum.primitives.values import Hash32

cursors = st.builds(
    LogCursor,
    number=st.integers(-1, 1 << 54),
    hash=st.binary(min_size=32, max_size=32).map(Hash32),
    logs=st.integers(-(1 << 39), (1 << 39) - 1),
    digest=st.just(b"") | st.binary(min_size=DIGEST, max_size=DIGEST),
)


@given(cursor=cursors)
def test_a_cursor_is_read_as_it_was_written(cursor: LogCursor) -> None:
    assert LogCursor.parse(str(cursor), of_a_filter=bool(cursor.digest)) == cursor


@given(cursor=cursors)
def test_a_cursor_of_the_other_kind_is_none(cursor: LogCursor) -> None:
    with pytest.raises(ValueError, match=r"^invalid cursor$"):
        LogCursor.parse(str(cursor), of_a_filter=not cursor.digest)


def test_there_is_no_block_before_the_beginning() -> None:
    with pytest.raises(ValueError, match=r"^invalid cursor$"):
        LogCursor.parse(str(LogCursor(-2, Hash32(bytes(32)), 0)), of_a_filter=False)
