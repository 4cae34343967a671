"""A position as the text that clients keep."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wsnode.starknet.live.position import BEGINNING, StarknetPosition

positions = st.builds(StarknetPosition, st.integers(-1, 2**63 - 1), st.binary(min_size=32, max_size=32))


@given(positions)
def test_a_cursor_is_read_as_it_was_written(position: StarknetPosition) -> None:
    text = str(position)
    assert StarknetPosition.parse(text) == position
    assert text.replace("-", "").replace("_", "").isalnum()
    assert len(text) == 56


@pytest.mark.parametrize(
    "text", ["", "x", str(BEGINNING)[:-4], "?" + str(BEGINNING)[1:], "B" + str(BEGINNING)[1:], "é" * 56]
)
def test_other_text_is_no_cursor(text: str) -> None:
    with pytest.raises(ValueError, match="invalid cursor"):
        StarknetPosition.parse(text)
