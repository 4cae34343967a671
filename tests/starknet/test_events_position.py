"""Continuation tokens: text that clients send back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wsnode.starknet.events import WHOLE, EventPosition
from wsnode.starknet.live.position import StarknetPosition

numbers = st.integers(0, 2**64 - 1)
counts = st.integers(0, WHOLE)
hashes = st.binary(min_size=32, max_size=32)


@given(numbers, counts, hashes)
def test_a_token_leads_back_to_its_position(number: int, count: int, block_hash: bytes) -> None:
    position = EventPosition(number, count, block_hash)
    assert EventPosition.parse(str(position)) == position


@pytest.mark.parametrize(
    "text",
    ["", "0", "7-3", "é", "A" * 60, str(StarknetPosition(7, bytes(32))), str(EventPosition(7, 0, b""))],
)
def test_other_text_is_no_token(text: str) -> None:
    with pytest.raises(ValueError, match="invalid cursor"):
        EventPosition.parse(text)
