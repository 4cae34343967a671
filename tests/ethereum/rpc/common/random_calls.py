"""Parameters of methods that the engine reads by itself: usual ones, unusual ones, and nonsense."""

import json
from typing import Any

from hypothesis import strategies as st

from tests.vector_files import require_vectors
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.rows import transaction_hashes

NOBODY = "0x" + "13" * 20
GARBAGE: st.SearchStrategy[Any] = st.sampled_from(
    [None, 4, True, "", "0x", "0X1", "1", "0xg", "0x0x00", "0x" + "0" * 65, [], {}]
)
SLOTS = st.one_of(
    st.integers(0, 3).map(hex),
    st.integers(0, 3).map("0x{:064x}".format),
    st.integers(0, 2**260).map(hex),
    st.sampled_from(["0x00A", "00", "f"]),
)


def of_state(chain: Chain, *places: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    """Return strategies of parameters: an account, of the genesis or unknown, other members, and a block."""
    genesis = json.loads((require_vectors("execution-apis") / "genesis.json").read_text())
    names = sorted(f"0x{name.removeprefix('0x')}" for name in genesis["alloc"])
    accounts = st.sampled_from([*names, NOBODY, NOBODY.upper(), names[0].upper().replace("X", "x")])
    with chain.snapshot() as view:
        hashes = [f"0x{(view.hash_of(number) or b'').hex()}" for number in (0, view.number)]
        last = view.number
    blocks = st.one_of(
        st.integers(0, last + 2).map(hex),
        st.sampled_from(["latest", "earliest", "pending", "safe", "0x01", hex(1 << 63), *hashes, NOBODY]),
    )
    usual = [accounts, *places, blocks]
    members = [st.one_of(place, place, place, GARBAGE) for place in usual]
    return st.one_of(*(st.tuples(*some).map(list) for some in (members, usual, usual[:-1], members[:-2])))


STATE_METHODS: dict[str, tuple[st.SearchStrategy[Any], ...]] = {
    "eth_getBalance": (),
    "eth_getTransactionCount": (),
    "eth_getCode": (),
    "eth_getStorageAt": (SLOTS,),
}


def hashes_of_transactions(chain: Chain) -> st.SearchStrategy[str]:
    """Return hashes of the chain's transactions, in small and capital letters, and of others."""
    with chain.snapshot() as view:
        rows = [transaction_hashes(view.body(number) or b"") for number in range(view.number + 1)]
    names = [f"0x{row[start : start + 32].hex()}" for row in rows for start in range(0, len(row), 32)]
    # The index knows the first eight bytes only.
    alike = [name[:18] + "0" * 48 for name in names]
    return st.sampled_from([*names, *alike, *map(str.upper, names), "0x" + "13" * 32])
