"""Headers and raw transactions, by number and by hash."""

import pytest

from tests.memory_transport import Ask, asking
from tests.reply_schemas import validating
from wsnode.ethereum.codec.blocks import keccak256
from wsnode.jsonrpc.dispatcher import Dispatcher

UNKNOWN = "0x" + "11" * 32
HEAD = "0x36"


@pytest.fixture(scope="module")
def ask(dispatcher: Dispatcher) -> Ask:
    """Return what calls a method, whose result has to fit the document."""
    return validating(asking(dispatcher))


@pytest.mark.parametrize("number", [0, 1, 9, 30, 40, 54])
def test_a_header_is_a_block_without_what_is_in_it(ask: Ask, number: int) -> None:
    block = ask("eth_getBlockByNumber", hex(number), False)["result"]
    for member in ("size", "transactions", "uncles"):
        del block[member]
    block.pop("withdrawals", None)
    assert ask("eth_getHeaderByNumber", hex(number))["result"] == block
    assert ask("eth_getHeaderByHash", block["hash"])["result"] == block


@pytest.mark.parametrize(("block", "number"), [("latest", HEAD), ("earliest", "0x0")])
def test_a_tag_names_its_block(ask: Ask, block: str, number: str) -> None:
    assert ask("eth_getHeaderByNumber", block)["result"]["number"] == number


@pytest.mark.parametrize("block", ["0x100", "pending", "safe", "finalized"])
def test_what_is_no_block_yet_has_no_header(ask: Ask, block: str) -> None:
    # geth has no error either for a tag that names nothing; here they name the head.
    found = ask("eth_getHeaderByNumber", block)["result"]
    assert found is None or (block in {"safe", "finalized"} and found["number"] == HEAD)
    assert ask("eth_getHeaderByHash", UNKNOWN) == {"result": None}


@pytest.mark.slow
def test_a_raw_transaction_is_what_was_signed(ask: Ask) -> None:
    kinds = set()
    for number in range(1, 55):
        block = ask("eth_getBlockByNumber", hex(number), True)["result"]
        for index, transaction in enumerate(block["transactions"]):
            raw = ask("eth_getRawTransactionByHash", transaction["hash"])["result"]
            assert f"0x{keccak256(bytes.fromhex(raw[2:])).hex()}" == transaction["hash"]
            place = hex(index)
            assert ask("eth_getRawTransactionByBlockHashAndIndex", block["hash"], place)["result"] == raw
            assert ask("eth_getRawTransactionByBlockNumberAndIndex", hex(number), place)["result"] == raw
            kinds.add(transaction["type"])
    assert kinds == {"0x0", "0x1", "0x2", "0x3", "0x4"}


def test_an_unknown_transaction_is_no_bytes(ask: Ask) -> None:
    nothing = {"result": "0x"}
    assert ask("eth_getRawTransactionByHash", UNKNOWN) == nothing
    assert ask("eth_getRawTransactionByBlockHashAndIndex", UNKNOWN, "0x0") == nothing
    for block, index in (("latest", "0x99"), ("0x100", "0x0"), ("pending", "0x0")):
        assert ask("eth_getRawTransactionByBlockNumberAndIndex", block, index) == nothing
