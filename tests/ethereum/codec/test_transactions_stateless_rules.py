"""The rules for a transaction that need no state; kinds are ours, the words are geth 1.17.8's."""

import json
from typing import Any

import pytest

from tests.ethereum.codec.signing import CHAIN_ID, SECRET, chain_until, head_of
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.rendering import render_transaction
from wsnode.ethereum.codec.rlp import block_transactions
from wsnode.ethereum.codec.transactions import PooledTransaction, check_transaction, render_pooled_transaction
from wsnode.ethereum.state import ChainSpec, InvalidTransactionError, sign_transaction

OSAKA = chain_until("osaka")
AUTHORIZATION = {
    "chainId": "0x1",
    "address": "0x" + "33" * 20,
    "nonce": "0x0",
    "yParity": "0x0",
    "r": "0x1",
    "s": "0x1",
}
LISTED: dict[str, Any] = {"gas_price": 10, "access_list": b"[]"}
TRANSFER: dict[str, Any] = {
    "chain_id": CHAIN_ID,
    "nonce": 0,
    "to": b"\x22" * 20,
    "value": 1,
    "input": b"",
    "gas": 100_000,
}
DYNAMIC: dict[str, Any] = TRANSFER | {"max_fee": 10, "max_priority_fee": 2}


def check(spec: ChainSpec, encoded: bytes, **terms: Any) -> None:
    check_transaction(spec, head_of(spec), PooledTransaction(spec, encoded), **terms)


@pytest.mark.parametrize(
    ("changes", "kind", "words"),
    [
        ({"gas": 20_999}, "intrinsic_gas", "intrinsic gas too low: gas 20999, minimum needed 21000"),
        (
            {"gas": 21_000 + 16 * 100, "input": b"\1" * 100},
            "floor_gas",
            "insufficient gas for floor data gas cost: gas 22600, minimum needed 25000",
        ),
        (
            {"max_fee": 1},
            "tip_above_fee",
            "max priority fee per gas higher than max fee per gas",
        ),
        ({"gas": 2**24 + 1}, "gas_cap", "transaction gas limit too high (cap: 16777216, tx: 16777217)"),
        (
            {"to": None, "input": b"\1" * 49_153},
            "initcode_size",
            "max initcode size exceeded: code size 49153 limit 49152",
        ),
        ({"nonce": 2**64 - 1}, "nonce", "nonce has max value"),
        (
            {"authorizations": b"[]"},
            "empty_authorizations",
            "set code tx must have at least one authorization tuple",
        ),
    ],
)
def test_a_broken_rule_is_refused_in_geths_words(changes: dict[str, Any], kind: str, words: str) -> None:
    with pytest.raises(InvalidTransactionError) as caught:
        check(OSAKA, sign_transaction(SECRET, **(DYNAMIC | changes)))
    assert (caught.value.kind, str(caught.value)) == (kind, words)


def test_a_transaction_of_more_than_128_kib_is_oversized() -> None:
    encoded = sign_transaction(SECRET, **(DYNAMIC | {"input": bytes(131_072)}))
    words = f"oversized data: transaction size {len(encoded)}, limit 131072"
    with pytest.raises(InvalidTransactionError, match=words):
        check(OSAKA, encoded)


def test_gas_is_at_most_that_of_a_block_before_it_has_a_cap_of_its_own() -> None:
    prague = chain_until("prague")
    check(prague, sign_transaction(SECRET, **(DYNAMIC | {"gas": 60_000_000})))
    with pytest.raises(InvalidTransactionError, match="exceeds block gas limit"):
        check(prague, sign_transaction(SECRET, **(DYNAMIC | {"gas": 60_000_001})))


@pytest.mark.parametrize(
    ("fork", "members", "words"),
    [
        ("istanbul", LISTED, "type 1 rejected, pool not yet in Berlin"),
        ("istanbul", {"max_fee": 1, "max_priority_fee": 1}, "type 2 rejected, pool not yet in Berlin"),
        ("berlin", {"max_fee": 1, "max_priority_fee": 1}, "type 2 rejected, pool not yet in London"),
        (
            "cancun",
            {"max_fee": 1, "max_priority_fee": 1, "authorizations": json.dumps([AUTHORIZATION]).encode()},
            "type 4 rejected, pool not yet in Prague",
        ),
    ],
)
def test_a_type_is_refused_before_its_fork_and_taken_after(
    fork: str, members: dict[str, Any], words: str
) -> None:
    encoded = sign_transaction(SECRET, **(TRANSFER | members))
    with pytest.raises(InvalidTransactionError, match=f"^transaction type not supported: {words}$"):
        check(chain_until(fork), encoded)
    check(OSAKA, encoded)


@pytest.mark.parametrize(
    ("price", "offered"), [({"gas_price": 4}, 4), ({"max_fee": 9, "max_priority_fee": 4}, 4)]
)
def test_a_tip_below_what_the_pool_asks_for_is_underpriced(price: dict[str, int], offered: int) -> None:
    encoded = sign_transaction(SECRET, **(TRANSFER | price))
    check(OSAKA, encoded, minimum_tip=offered)
    words = f"transaction gas price below minimum: gas tip cap {offered}, minimum needed {offered + 1}"
    with pytest.raises(InvalidTransactionError, match=words):
        check(OSAKA, encoded, minimum_tip=offered + 1)


def test_a_pooled_transaction_is_shown_as_in_a_block_but_for_its_place(execution_apis_chain: Chain) -> None:
    placeless = dict.fromkeys(("blockHash", "blockNumber", "blockTimestamp", "transactionIndex"))
    spec, shown = execution_apis_chain.spec, set[str]()
    with execution_apis_chain.snapshot() as snapshot:
        for number in range(1, snapshot.number + 1):
            header, body = snapshot.header(number), snapshot.body(number)
            assert header is not None
            assert body is not None
            for index, encoded in enumerate(block_transactions(header, body)):
                placed = json.loads(render_transaction(header, body, index) or b"")
                pooled = json.loads(render_pooled_transaction(PooledTransaction(spec, encoded)))
                price = placed.get("maxFeePerGas", placed["gasPrice"])
                assert pooled == placed | placeless | {"gasPrice": price}
                assert list(pooled) == list(placed)
                shown.add(placed["type"])
    assert shown == {"0x0", "0x1", "0x2", "0x3", "0x4"}
