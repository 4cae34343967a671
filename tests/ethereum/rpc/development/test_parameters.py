"""Whatever the methods of a development chain are given, they answer with a result or with a reason."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.drawing import examples
from tests.ethereum.development.playground import CREATOR, RECIPIENT, Playground, playground

PREFIXES = ("anvil_", "hardhat_", "evm_", "wsnode_reorg", "personal_")
MORE = ("eth_sendTransaction", "eth_sendUnsignedTransaction", "eth_signTransaction", "eth_fillTransaction")
SIGNING = ("eth_sign", "eth_signTypedData_v4")
# Blocks by the thousand, or a chain that waits.
SLOW = ("anvil_mine", "hardhat_mine", "evm_mine", "evm_setIntervalMining", "anvil_setIntervalMining")
INTERNAL_ERROR = -32603

NUMBERS = st.one_of(
    st.integers(-2, 5), st.sampled_from([2**53, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 2**255, 2**256, 10**400])
)
TEXTS = st.one_of(
    st.sampled_from([CREATOR, RECIPIENT, "0x", "0x0", "0x1", "0xg", "", "pending", "0x" + "12" * 32]),
    NUMBERS.filter(lambda value: value >= 0).map(lambda value: hex(value) if value < 2**300 else str(value)),
    st.text(max_size=5),
)
MEMBERS = st.sampled_from(
    [
        *("from", "to", "value", "gas", "gasPrice", "maxFeePerGas", "nonce", "data", "accessList"),
        *("types", "domain", "message", "primaryType", "depth", "transactions", "timestamp", "blocks"),
        *("forking", "authorizationList", "blobVersionedHashes", "name", "type", "tx_block_pairs"),
        *("jsonRpcUrl", "blockNumber"),
    ]
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, st.floats(allow_nan=False, allow_infinity=False), TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(MEMBERS, inner, max_size=4)),
    max_leaves=6,
)
PARAMETERS = st.one_of(
    st.lists(VALUES, max_size=3),
    st.tuples(st.sampled_from([CREATOR, RECIPIENT]), VALUES).map(list),
    st.tuples(st.sampled_from([CREATOR, RECIPIENT]), NUMBERS, st.just("0x" + "34" * 32)).map(list),
    st.lists(st.one_of(NUMBERS, TEXTS), min_size=1, max_size=1),
    st.dictionaries(MEMBERS, VALUES, max_size=4),
)


def method_names(chain: Playground) -> list[str]:
    names = [name for name in chain.registry.methods if name.startswith(PREFIXES) and name not in SLOW]
    return sorted([*names, *MORE, *SIGNING])


def call(chain: Playground, method: str, params: Any) -> None:
    reply = chain.ask(method, params)
    assert reply.get("error", {}).get("code") != INTERNAL_ERROR, (method, params, reply)


@pytest.mark.slow
@settings(max_examples=examples(10))
@given(data=st.data())
def test_no_parameters_are_a_mistake_of_the_node(data: st.DataObject) -> None:
    with TemporaryDirectory() as folder, playground(Path(folder)) as chain:
        names = method_names(chain)
        for _ in range(60):
            method = data.draw(st.sampled_from(names))
            call(chain, method, data.draw(PARAMETERS))
        chain("anvil_reset")
        assert chain.receipt(chain.send()) is not None
