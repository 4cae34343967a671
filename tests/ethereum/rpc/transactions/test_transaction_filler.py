"""eth_fillTransaction: what geth 1.17.8 fills in, and what it refuses."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.clocks import stopped
from tests.ethereum.pool.playground import ALICE, CHAIN_ID, Playground
from tests.memory_transport import Ask, asking
from tests.reply_schemas import validating
from tests.sync.forks import genesis
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.transactions import PooledTransaction, sign_transaction
from wsnode.ethereum.pool.pool import TransactionPool
from wsnode.ethereum.rpc.registry import build_registry
from wsnode.jsonrpc.dispatcher import Dispatcher

SENDER = f"0x{ALICE.address.hex()}"
RECIPIENT = "0x" + "22" * 20
RECORDED: list[tuple[dict[str, Any], dict[str, Any]]] = [
    json.loads(line) for line in Path(__file__).with_name("filled_by_geth.jsonl").read_text().splitlines()
]


@pytest.fixture
def playground(playground: Playground) -> Playground:
    playground.mine([])
    return playground


@pytest.fixture
def ask(playground: Playground) -> Ask:
    registry = build_registry(playground.chain, pool=playground.pool, timer=stopped)
    return validating(asking(Dispatcher(registry, playground.chain.snapshot)))


def fill(ask: Ask, **members: Any) -> dict[str, Any]:
    filled: dict[str, Any] = ask("eth_fillTransaction", {"from": SENDER, **members})["result"]
    return filled


@pytest.mark.parametrize(("members", "filled"), RECORDED, ids=[str(list(case[0])) for case in RECORDED])
def test_a_transaction_is_filled_in_as_geth_does(
    ask: Ask, members: dict[str, Any], filled: dict[str, Any]
) -> None:
    assert fill(ask, **members) == filled
    assert list(fill(ask, **members)["tx"]) == list(filled["tx"])


def test_fees_follow_from_the_head_and_the_nonce_from_the_pool(playground: Playground, ask: Ask) -> None:
    playground.pool.add(playground.sign(ALICE, 0))
    tip = int(ask("eth_maxPriorityFeePerGas")["result"], 16)
    base_fee = int(ask("eth_getBlockByNumber", "latest", False)["result"]["baseFeePerGas"], 16)
    filled = fill(ask, to=RECIPIENT)["tx"]
    assert (filled["nonce"], int(filled["maxPriorityFeePerGas"], 16)) == ("0x1", tip)
    assert int(filled["maxFeePerGas"], 16) == tip + 2 * base_fee


def test_what_was_filled_in_can_be_signed_and_sent(playground: Playground, ask: Ask) -> None:
    access = [{"address": RECIPIENT, "storageKeys": ["0x" + "01" * 32]}]
    filled = fill(ask, to=RECIPIENT, value="0x5", gasPrice=hex(3 * 10**9), accessList=access)
    assert filled["tx"]["type"] == "0x1"
    nonce, gas, price = (int(filled["tx"][name], 16) for name in ("nonce", "gas", "gasPrice"))
    signed = sign_transaction(
        ALICE.secret,
        chain_id=CHAIN_ID,
        nonce=nonce,
        to=bytes.fromhex(RECIPIENT[2:]),
        value=5,
        input=b"",
        gas=gas,
        gas_price=price,
        access_list=json.dumps(access).encode(),
    )
    # But for the signature they are the same.
    content = bytes.fromhex(filled["raw"][2:])[3:-3]
    assert content[1:] in signed
    assert PooledTransaction(playground.chain.spec, signed).value == 5
    playground.pool.add(signed)


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({}, "contract creation without any data provided"),
        ({"from": RECIPIENT, "to": SENDER}, "insufficient funds for transfer"),
        ({"from": None, "to": SENDER}, "insufficient funds for transfer"),
        ({"to": RECIPIENT, "chainId": "0x1"}, "chainId does not match node's (have=1, want=31337)"),
        ({"to": RECIPIENT, "gasPrice": "0x0"}, "gasPrice must be non-zero after london fork"),
        (
            {"to": RECIPIENT, "input": "0x1234", "data": "0x12"},
            'both "data" and "input" are set and not equal. Please use "input" to pass transaction call data',
        ),
    ],
)
def test_what_cannot_be_filled_in_is_refused_in_geths_words(
    ask: Ask, members: dict[str, Any], message: str
) -> None:
    reply = ask("eth_fillTransaction", {"from": SENDER, **members})
    assert reply == {"error": {"code": -32000, "message": message}}


def test_before_there_are_base_fees_a_price_is_filled_in(tmp_path: Path) -> None:
    with Chain.open(tmp_path / "old", genesis(merged=False), writer=True, durable=False) as chain:
        registry = build_registry(chain, pool=TransactionPool(chain), timer=stopped)
        ask = validating(asking(Dispatcher(registry, chain.snapshot)))
        call = {"to": RECIPIENT, "gas": "0x5208"}
        filled = ask("eth_fillTransaction", call)["result"]["tx"]
        assert (filled["type"], filled["gasPrice"]) == ("0x0", ask("eth_maxPriorityFeePerGas")["result"])
        message = "maxFeePerGas and maxPriorityFeePerGas are not valid before London is active"
        assert ask("eth_fillTransaction", call | {"maxFeePerGas": "0x1"}) == {
            "error": {"code": -32000, "message": message}
        }
