"""The recipient of a signed transaction, read without the engine."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wsnode.ethereum.codec.rlp import encode, recipient_of
from wsnode.ethereum.state import sign_transaction

ACCESS = b'[{"address":"0x%b","storageKeys":["0x%b"]}]' % (b"07" * 20, b"08" * 32)
FEES: dict[str, dict[str, Any]] = {
    "legacy": {"gas_price": 1},
    "access list": {"gas_price": 1, "access_list": ACCESS},
    "dynamic": {"max_fee": 7, "max_priority_fee": 0, "access_list": ACCESS},
}


@pytest.mark.parametrize("kind", FEES)
@given(
    to=st.none() | st.binary(min_size=20, max_size=20),
    chain_id=st.integers(1, 2**63),
    nonce=st.integers(0, 2**63),
    value=st.integers(0, 2**200),
    input=st.binary(max_size=100),
)
def test_the_recipient_is_found_where_the_transaction_has_it(
    kind: str, to: bytes | None, chain_id: int, nonce: int, value: int, input: bytes
) -> None:
    signed = sign_transaction(
        b"\x01" * 32,
        **FEES[kind],
        chain_id=chain_id,
        nonce=nonce,
        to=to,
        value=value,
        input=input,
        gas=100_000,
    )
    assert recipient_of(signed) == to


@pytest.mark.parametrize("place", [3, 4, 5])
def test_blobs_around_a_transaction_do_not_hide_whom_it_is_for(place: int) -> None:
    address = bytes(range(20))
    members: list[Any] = [b"\x01"] * 5 + [address, b"", b"", []]
    assert recipient_of(b"\x03" + encode(members)) == address
    assert recipient_of(b"\x03" + encode([members, [b"blob"], [], []])) == address
    members[place] = b""
    assert recipient_of(b"\x03" + encode(members)) == (None if place == 5 else address)


@given(st.binary(max_size=80))
def test_nonsense_is_for_nobody_or_for_an_account(content: bytes) -> None:
    found = recipient_of(content)
    assert found is None or len(found) == 20
