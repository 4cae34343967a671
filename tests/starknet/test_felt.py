import pytest
from hypothesis import given
from hypothesis import strategies as st

from wsnode.starknet.felt import PRIME, felt_bytes, felt_text, is_canonical


@given(st.integers(0, PRIME - 1))
def test_any_felt_comes_back_from_its_text(number: int) -> None:
    text = felt_text(number.to_bytes(32, "big"))
    assert int(text, 16) == number
    assert is_canonical(text)
    assert felt_bytes(text) == number.to_bytes(32, "big")


@pytest.mark.parametrize("text", ["0x0", "0x00", "0X1f", "0x1F", "0x" + "0" * 63 + "7", "0x041b10"])
def test_padding_and_upper_case_are_taken(text: str) -> None:
    assert int.from_bytes(felt_bytes(text), "big") == int(text, 16)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0x",
        "1",
        "0x_1",
        "0x1_0",
        "0x 1",
        "-0x1",
        "0x-1",
        "0xg",
        "0x" + "0" * 65,
        hex(PRIME),
        "0x" + "f" * 64,
    ],
)
def test_what_is_no_felt_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        felt_bytes(text)


def test_the_largest_felt_is_one_below_the_prime() -> None:
    assert felt_text(felt_bytes(hex(PRIME - 1))) == hex(PRIME - 1)
