import pytest
from hypothesis import given
from hypothesis import strategies as st

from wsnode.starknet.felt import PRIME, chain_id_text, felt_bytes, felt_text, is_canonical, short_string


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


PRINTABLE = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=1, max_size=31)


@given(PRINTABLE.filter(lambda text: text[:2] not in ("0x", "0X")), st.integers(0, 2), st.booleans())
def test_a_chain_id_is_the_same_in_text_and_in_hex(text: str, zeros: int, is_upper: bool) -> None:
    digits = "0" * zeros + text.encode().hex()
    assert chain_id_text(text) == text
    assert chain_id_text("0x" + (digits.upper() if is_upper else digits)) == text
    assert short_string(text.encode().rjust(32, b"\0")) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0x",
        "0x0",
        "0xsn",
        "0x0a",
        "0x7f",
        "0x80",
        "0x41004d",
        "0x" + "41" * 32,
        "0x" + "0" * 63 + "41",
        "A" * 32,
        "A\n",
        "SN TEST",
        "SN_TEST ",
        "0x20",
        "0x534e2054455354",
        "A\x7f",
        "SN_MÄIN",
        "SN_\u0663",
    ],
)
def test_what_is_no_chain_id_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="a chain's id is 1 to 31 printable ASCII characters"):
        chain_id_text(text)


def test_the_longest_chain_id_has_31_characters() -> None:
    assert chain_id_text("A" * 31) == chain_id_text("0x" + "41" * 31) == "A" * 31


def test_the_largest_felt_is_one_below_the_prime() -> None:
    assert felt_text(felt_bytes(hex(PRIME - 1))) == hex(PRIME - 1)
