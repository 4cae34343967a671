"""web3.py against the demo chain, with each of its providers."""

from collections import defaultdict
from collections.abc import Iterator
from functools import partial

import pytest

from tests.clients.nodes import ADDRESSES, HTTP_ADDRESSES
from tests.clients.web3_session import DEMO, Session, connected
from tests.node_process import Node

web3 = pytest.importorskip("web3")
exceptions = pytest.importorskip("web3.exceptions")
method = pytest.importorskip("web3.method")

ETHER = 10**18
NOBODY = "0x" + "00" * 20
UNKNOWN = "0x" + "11" * 32
TRANSFER = {"from": DEMO.holder, "to": DEMO.recipient, "value": 1}
PROVIDERS = [
    ("HTTPProvider", "bare http"),
    ("HTTPProvider", "http"),
    ("AsyncHTTPProvider", "http"),
    ("WebSocketProvider", "websocket"),
    ("WebSocketProvider", "bare websocket"),
]


@pytest.fixture(scope="module", params=PROVIDERS, ids=", ".join)
def session(request: pytest.FixtureRequest, demo: Node) -> Iterator[Session]:
    kind, address = request.param
    with connected(web3, kind, ADDRESSES[address](demo)) as session:
        yield session


def test_a_connection_is_a_connection(session: Session) -> None:
    assert session.wait(session.w3.is_connected())
    assert "wsnode/v" in session.wait(session.w3.client_version)
    assert session.wait(session.eth.chain_id) == DEMO.chainId
    assert session.wait(session.w3.net.version) == str(DEMO.chainId)
    assert session.wait(session.eth.syncing) is False
    assert session.wait(session.eth.block_number) >= DEMO.last


def test_a_block_has_hashes_and_whole_transactions_when_they_are_asked_for(session: Session) -> None:
    block = session.wait(session.eth.get_block(2))
    full = session.wait(session.eth.get_block(block["hash"], full_transactions=True))
    assert len(block["transactions"]) == 9
    assert [each["hash"] for each in full["transactions"]] == list(block["transactions"])
    assert session.wait(session.eth.get_block_transaction_count(2)) == 9


@pytest.mark.parametrize("tag", ["latest", "pending", "safe", "finalized", "earliest"])
def test_every_block_tag_names_a_block(tag: str, session: Session) -> None:
    assert session.wait(session.eth.get_block(tag))["gasLimit"] > 0


def test_what_does_not_exist_has_an_error_of_its_own(session: Session) -> None:
    with pytest.raises(exceptions.BlockNotFound):
        session.wait(session.eth.get_block(10**9))
    with pytest.raises(exceptions.TransactionNotFound):
        session.wait(session.eth.get_transaction(UNKNOWN))
    with pytest.raises(exceptions.TransactionNotFound):
        session.wait(session.eth.get_transaction_receipt(UNKNOWN))


def test_balance_code_storage_and_nonce_are_read_at_a_block(session: Session) -> None:
    eth = session.eth
    assert session.wait(eth.get_balance(DEMO.creator, 0)) == 10_000 * ETHER
    assert session.wait(eth.get_balance(DEMO.creator, 1)) < 10_000 * ETHER
    assert session.wait(eth.get_code(DEMO.token, 0)) == b""
    assert len(session.wait(eth.get_code(DEMO.token))) > 1000
    assert len(session.wait(eth.get_storage_at(DEMO.token, 0))) == 32
    assert session.wait(eth.get_transaction_count(DEMO.creator, 2)) == 10


def test_a_transaction_and_its_receipt_fit_together(session: Session) -> None:
    transaction = session.wait(session.eth.get_transaction_by_block(2, 0))
    receipt = session.wait(session.eth.get_transaction_receipt(transaction["hash"]))
    assert (transaction["from"], transaction["to"], transaction["type"]) == (DEMO.creator, DEMO.token, 2)
    assert session.wait(session.eth.get_transaction(transaction["hash"])) == transaction
    assert (receipt["status"], receipt["transactionIndex"], len(receipt["logs"])) == (1, 0, 1)
    assert receipt["effectiveGasPrice"] == transaction["gasPrice"]
    (event,) = session.token.events.Transfer().process_receipt(receipt)
    assert event["args"]["value"] == int(DEMO.grant)
    statuses = [each["status"] for each in session.wait(session.eth.get_block_receipts(10))]
    assert (set(statuses[:-1]), statuses[-1]) == ({1}, 0)


@pytest.mark.slow
def test_the_tokens_events_add_up_to_its_balances(session: Session) -> None:
    balances: dict[str, int] = defaultdict(int)
    event = session.token.events.Transfer
    for log in session.wait(event.get_logs(from_block=0, to_block=DEMO.last)):
        balances[log["args"]["from"]] -= log["args"]["value"]
        balances[log["args"]["to"]] += log["args"]["value"]
    assert balances.pop(NOBODY) == -int(DEMO.supply)
    for account, balance in balances.items():
        assert session.read("balanceOf", account, block=DEMO.last) == balance


def test_events_are_filtered_by_their_indexed_arguments(session: Session) -> None:
    event, blocks = session.token.events.Transfer, {"from_block": 0, "to_block": DEMO.last}
    every = session.wait(event.get_logs(**blocks))
    for argument in ("from", "to"):
        found = session.wait(event.get_logs(**blocks, argument_filters={argument: DEMO.holder}))
        assert found == [log for log in every if log["args"][argument] == DEMO.holder]
        assert found


def test_the_tokens_views_are_read(session: Session) -> None:
    views = [session.read(view) for view in ("name", "symbol", "decimals", "totalSupply")]
    assert views == ["Demo Token", "DEMO", 18, int(DEMO.supply)]
    assert session.read("balanceOf", DEMO.holder, block=2) == int(DEMO.grant)


def test_a_revert_is_a_contract_logic_error_with_the_contracts_reason(session: Session) -> None:
    transfer = session.token.functions.transfer(DEMO.recipient, int(DEMO.tooMuch))
    for ask in (transfer.call, transfer.estimate_gas):
        with pytest.raises(exceptions.ContractLogicError) as error:
            session.wait(ask({"from": DEMO.holder}))
        assert error.value.message == "execution reverted: Token: insufficient balance"
        assert error.value.data.startswith("0x08c379a0")


def test_a_revert_has_code_3(demo: Node) -> None:
    with connected(web3, "HTTPProvider", HTTP_ADDRESSES["http"](demo)) as session:
        data = session.token.encode_abi("transfer", [DEMO.recipient, int(DEMO.tooMuch)])
        call = [{"from": DEMO.holder, "to": DEMO.token, "data": data}, "latest"]
        assert session.w3.provider.make_request("eth_call", call)["error"]["code"] == 3


def test_gas_is_estimated_and_a_transaction_is_completed(session: Session) -> None:
    assert session.wait(session.eth.estimate_gas(TRANSFER)) == 21_000
    transfer = session.token.functions.transfer(DEMO.recipient, 1)
    complete = session.wait(transfer.build_transaction({"from": DEMO.holder}))
    assert 30_000 < complete["gas"] < 60_000
    assert complete["chainId"] == DEMO.chainId
    assert complete["maxFeePerGas"] > complete["maxPriorityFeePerGas"] > 0


def test_too_little_ether_can_be_lent_for_a_call(session: Session) -> None:
    transfer = TRANSFER | {"value": 10**30}
    with pytest.raises(exceptions.Web3RPCError, match="insufficient funds"):
        session.wait(session.eth.call(transfer))
    lent = {DEMO.holder: {"balance": hex(10**31)}}
    assert session.wait(session.eth.call(transfer, "latest", lent)) == b""


def test_fees_are_advised(session: Session) -> None:
    assert session.wait(session.eth.gas_price) > session.wait(session.eth.max_priority_fee) > 0
    history = session.wait(session.eth.fee_history(5, "latest", [10, 50]))
    assert (len(history["baseFeePerGas"]), len(history["reward"])) == (6, 5)


def test_20_calls_at_once_are_each_answered_with_their_own_result(session: Session) -> None:
    numbers = range(1, 21)
    blocks = session.together([partial(session.eth.get_block, number) for number in numbers])
    assert [block["number"] for block in blocks] == list(numbers)


def test_a_batch_is_answered_in_its_order(session: Session) -> None:
    numbers = range(1, 21)
    blocks = session.batch([partial(session.eth.get_block, number) for number in numbers])
    assert [block["number"] for block in blocks] == list(numbers)


def test_a_method_that_does_not_exist_is_unavailable(session: Session) -> None:
    session.eth.attach_methods({"no_such_method": method.Method("eth_noSuchMethod")})
    with pytest.raises(exceptions.MethodUnavailable) as error:
        session.wait(session.eth.no_such_method())
    assert error.value.rpc_response["error"]["code"] == -32601


@pytest.mark.slow
def test_blocks_transactions_and_receipts_of_every_fork_are_read(served: Node) -> None:
    with connected(web3, "HTTPProvider", HTTP_ADDRESSES["http"](served)) as session:
        kinds = set()
        for number in range(session.eth.block_number + 1):
            transactions = session.eth.get_block(number, full_transactions=True)["transactions"]
            receipts = session.eth.get_block_receipts(number)
            kinds |= {each["type"] for each in transactions}
            assert [each["transactionHash"] for each in receipts] == [each["hash"] for each in transactions]
            assert [each["type"] for each in receipts] == [each["type"] for each in transactions]
        assert kinds == {0, 1, 2, 3, 4}
