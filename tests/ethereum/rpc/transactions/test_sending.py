"""Sending, and what methods say of transactions in the pool."""

from typing import Any

import pytest
import trio

from tests.clocks import stopped
from tests.ethereum.pool.playground import ALICE, BALANCE, BOB, DAVE, MINER, SOMEBODY, Playground
from tests.ethereum.pool.steps import plain, with_blobs
from tests.memory_transport import Ask, asking
from tests.reply_schemas import validating
from wsnode.ethereum.building.next_block import within
from wsnode.ethereum.building.pending_block import ALWAYS, PendingBlockBuilder
from wsnode.ethereum.codec.addresses import checksummed
from wsnode.ethereum.pool.limits import PoolLimits, PoolRules
from wsnode.ethereum.rpc.common.parameters import Data
from wsnode.ethereum.rpc.registry import build_registry
from wsnode.ethereum.rpc.transactions.sending import RawTransactionParameters, TransactionRelay
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.jsonrpc.errors import RpcError
from wsnode.jsonrpc.work import Await

ADDRESS = f"0x{ALICE.address.hex()}"
ZERO_HASH = "0x" + "00" * 32
# The contract that collects requests for withdrawals.
WITHDRAWALS = bytes.fromhex("00000961ef480eb55e80d19ad83579a64c007002")


def asking_with(playground: Playground, **options: Any) -> Ask:
    registry = build_registry(playground.chain, **options, timer=stopped)
    return validating(asking(Dispatcher(registry, playground.chain.snapshot)))


@pytest.fixture
def ask(playground: Playground) -> Ask:
    return asking_with(playground, pool=playground.pool, with_test_methods=True)


def hexed(encoded: bytes) -> str:
    return f"0x{encoded.hex()}"


def test_a_sent_transaction_is_found_by_its_hash_before_and_after_its_block(
    playground: Playground, ask: Ask
) -> None:
    encoded = playground.sign(ALICE, 0)
    sent = ask("eth_sendRawTransaction", hexed(encoded))["result"]
    found = ask("eth_getTransactionByHash", sent)["result"]
    place = ("blockHash", "blockNumber", "blockTimestamp", "transactionIndex")
    assert [found[name] for name in place] == [None] * 4
    assert (found["from"], found["nonce"], found["gasPrice"]) == (ADDRESS, "0x0", found["maxFeePerGas"])
    assert ask("debug_getRawTransaction", sent) == {"result": hexed(encoded)}
    assert ask("eth_getTransactionReceipt", sent) == {"result": None}
    playground.mine()
    assert ask("eth_getTransactionByHash", sent)["result"]["blockNumber"] == "0x1"
    assert ask("eth_getTransactionReceipt", sent)["result"]["status"] == "0x1"
    assert ask("txpool_status") == {"result": {"pending": "0x0", "queued": "0x0"}}
    assert ask("eth_sendRawTransaction", hexed(encoded)) == {
        "error": {"code": -32000, "message": "nonce too low: next nonce 1, tx nonce 0"}
    }


def test_the_pending_count_goes_up_to_the_first_gap(playground: Playground, ask: Ask) -> None:
    for nonce in (0, 1, 3):
        playground.send(ALICE, nonce)
    assert ask("eth_getTransactionCount", ADDRESS, "pending") == {"result": "0x2"}
    assert ask("eth_getTransactionCount", ADDRESS, "latest") == {"result": "0x0"}
    assert ask("eth_getTransactionCount", "0x" + "12" * 20, "pending") == {"result": "0x0"}
    assert ask("txpool_status") == {"result": {"pending": "0x2", "queued": "0x1"}}


def test_the_block_to_come_holds_the_executable_transactions(playground: Playground, ask: Ask) -> None:
    first, second = playground.send(ALICE, 0), playground.send(BOB, 0, tip=1)
    playground.send(ALICE, 2)
    plain = ask("eth_getBlockByNumber", "pending", False)["result"]
    assert plain["transactions"] == [hexed(first), hexed(second)]
    assert {name for name, value in plain.items() if value is None} == {"hash", "nonce", "miner"}
    assert plain["gasUsed"] == hex(42_000)
    assert ask("eth_getBlockTransactionCountByNumber", "pending") == {"result": "0x2"}
    receipts = ask("eth_getBlockReceipts", "pending")["result"]
    assert [receipt["transactionHash"] for receipt in receipts] == plain["transactions"]
    playground.mine()
    assert ask("eth_getBlockByNumber", "pending", False)["result"]["transactions"] == []


def test_the_services_callers_see_no_place_in_the_block_to_come(playground: Playground, ask: Ask) -> None:
    sent = playground.send(ALICE, 0)
    block = ask("eth_getBlockByNumber", "pending", True, service_form=True)["result"]
    by_index = ask("eth_getTransactionByBlockNumberAndIndex", "pending", "0x0", service_form=True)["result"]
    assert block["transactions"] == [by_index]
    assert by_index["hash"] == hexed(sent)
    assert [by_index[name] for name in ("blockHash", "blockNumber", "transactionIndex")] == [None] * 3
    assert {name for name, value in block.items() if value is None} == {
        *("hash", "nonce", "logsBloom", "number")
    }


def test_the_block_to_come_is_not_built_without_end(playground: Playground) -> None:
    """Each build takes a tenth of a second: ten of them are enough for the next ten seconds."""
    now = [1000.0]

    def timer() -> float:
        now[0] += 0.1
        return now[0]

    pending = PendingBlockBuilder(playground.pool, timer=timer)
    built = set()
    with playground.chain.snapshot() as view:
        for nonce in range(20):
            playground.send(ALICE, nonce)
            built.add(pending.after(view).hash)
        assert 1 < len(built) < 6
        now[0] += 2.0
        assert pending.after(view).hash not in built
        assert pending.after(view).transaction_count == 20


def test_where_it_may_always_be_built_it_is_as_the_pool_is(playground: Playground) -> None:
    seconds = iter(range(100))
    pending = PendingBlockBuilder(playground.pool, share=ALWAYS, timer=lambda: next(seconds))
    with playground.chain.snapshot() as view:
        for nonce in range(20):
            playground.send(ALICE, nonce)
            assert pending.after(view).transaction_count == nonce + 1


def test_blocks_without_a_limit_do_not_keep_everybody_waiting(playground: Playground) -> None:
    for nonce in range(8):
        playground.send(ALICE, nonce, gas=16_000_000)
    offered = playground.pool.executable()
    assert len(within(offered, 30_000_000)) == 8
    assert [each.nonce for each in within(offered, 2**63)] == list(range(6))


def test_a_network_without_a_pool_knows_no_sending(playground: Playground) -> None:
    ask = asking_with(playground)
    error = ask("eth_sendRawTransaction", hexed(playground.sign(ALICE, 0)))["error"]
    # The words by which ethers and viem tell a method that is not supported.
    assert error == {
        "code": -32601,
        "message": "the method eth_sendRawTransaction does not exist/is not available",
        "data": {"reason": "this network takes no transactions"},
    }
    assert ask("txpool_status") == {"result": {"pending": "0x0", "queued": "0x0"}}
    assert ask("txpool_content") == ask("txpool_inspect") == {"result": {"pending": {}, "queued": {}}}
    assert ask("txpool_contentFrom", ADDRESS) == {"result": {"pending": {}, "queued": {}}}
    assert ask("eth_pendingTransactions") == {"result": []}
    assert ask("testing_buildBlockV1")["error"]["code"] == -32601


def test_nonces_are_listed_in_the_order_of_their_digits(playground: Playground, ask: Ask) -> None:
    for nonce in range(12):
        playground.send(ALICE, nonce)
    listed = ask("txpool_inspect")["result"]["pending"][checksummed(ALICE.address)]
    assert list(listed) == sorted(map(str, range(12)))
    assert listed["10"] == f"{checksummed(SOMEBODY)}: 1 wei + 21000 gas × 10000000000 wei"


def test_blobs_are_proved_in_a_thread_and_not_kept(playground: Playground, ask: Ask) -> None:
    sent = ask("eth_sendRawTransaction", hexed(with_blobs(DAVE, 0)))["result"]
    found = ask("eth_getTransactionByHash", sent)["result"]
    assert len(found["blobVersionedHashes"]) == 1
    assert len(ask("debug_getRawTransaction", sent)["result"]) < 1000
    block = ask("eth_getBlockByNumber", "pending", False)["result"]
    assert (block["transactions"], block["blobGasUsed"]) == ([sent], hex(1 << 17))


def attributes(playground: Playground, **members: Any) -> dict[str, Any]:
    return {
        "timestamp": hex(playground.builder.tip.timestamp + 12),
        "prevRandao": ZERO_HASH,
        "suggestedFeeRecipient": f"0x{MINER.hex()}",
        "withdrawals": [],
        "parentBeaconBlockRoot": ZERO_HASH,
        **members,
    }


def test_a_block_can_be_built_of_any_transactions_or_of_the_pools(playground: Playground, ask: Ask) -> None:
    head = hexed(playground.chain.head.hash)
    waiting, other = playground.sign(ALICE, 0), playground.sign(BOB, 0, value=BALANCE // 2)
    playground.pool.add(waiting)
    given = ask("testing_buildBlockV1", head, attributes(playground), [hexed(other)], "0x1234")["result"]
    payload = given["executionPayload"]
    assert (payload["transactions"], payload["extraData"]) == ([hexed(other)], "0x1234")
    assert (payload["parentHash"], payload["blockNumber"]) == (head, "0x1")
    assert given["blockValue"] == hex(21_000 * 10**9)
    assert given["blobsBundle"] == {"commitments": [], "proofs": [], "blobs": []}
    pooled = ask("testing_buildBlockV1", head, attributes(playground), None)["result"]
    assert pooled["executionPayload"]["transactions"] == [hexed(waiting)]
    empty = ask("testing_buildBlockV1", head, attributes(playground), [])["result"]
    assert (empty["executionPayload"]["transactions"], empty["blockValue"]) == ([], "0x0")
    assert hexed(playground.chain.head.hash) == head


def test_a_built_block_tells_its_requests_to_the_consensus_layer(playground: Playground, ask: Ask) -> None:
    key, amount = bytes(range(48)), 7
    withdrawing = playground.sign(ALICE, 0, to=WITHDRAWALS, call=key + amount.to_bytes(8, "big"), gas=300_000)
    head = hexed(playground.chain.head.hash)
    built = ask("testing_buildBlockV1", head, attributes(playground), [hexed(withdrawing)])["result"]
    assert built["executionRequests"] == [hexed(b"\x01" + ALICE.address + key + amount.to_bytes(8, "little"))]
    empty = ask("testing_buildBlockV1", head, attributes(playground), [])["result"]
    assert empty["executionRequests"] == []


def test_a_built_block_follows_its_attributes(playground: Playground, ask: Ask) -> None:
    head = hexed(playground.chain.head.hash)
    withdrawal = {"index": "0x1", "validatorIndex": "0x2", "address": ADDRESS, "amount": "0x3"}
    told = attributes(playground, withdrawals=[withdrawal], targetGasLimit=hex(30_000_100))
    payload = ask("testing_buildBlockV1", head, told, [])["result"]["executionPayload"]
    assert payload["withdrawals"] == [withdrawal]
    assert payload["gasLimit"] == hex(30_000_100)
    assert (payload["timestamp"], payload["feeRecipient"]) == (told["timestamp"], f"0x{MINER.hex()}")
    usual = ask("testing_buildBlockV1", head, attributes(playground), [])["result"]["executionPayload"]
    # The setting is 60 million.
    assert usual["gasLimit"] == hex(30_000_000 + 30_000_000 // 1024 - 1)
    lowest = ask("testing_buildBlockV1", head, {**told, "targetGasLimit": "0x1"}, [])["result"]
    assert lowest["executionPayload"]["gasLimit"] == hex(30_000_000 - 30_000_000 // 1024 + 1)


def test_what_cannot_be_built_is_refused_in_geths_words(playground: Playground, ask: Ask) -> None:
    head, told = hexed(playground.chain.head.hash), attributes(playground)
    timestamp = playground.builder.tip.timestamp
    for params, code, message in (
        ((ZERO_HASH, told, []), -32000, "parentHash is not current head"),
        (
            (head, {**told, "timestamp": "0x1"}, []),
            -32000,
            f"invalid timestamp, parent {timestamp} given 1",
        ),
        ((head, told, ["0x1234"]), -32000, "invalid transaction 0: transaction type not supported"),
        (
            (head, {"timestamp": "0x1"}, []),
            -32602,
            "invalid argument 1: missing required field 'prevRandao' for PayloadAttributes",
        ),
        (
            (head, [], []),
            -32602,
            "invalid argument 1: json: cannot unmarshal array into Go value of type engine.PayloadAttributes",
        ),
    ):
        assert ask("testing_buildBlockV1", *params) == {"error": {"code": code, "message": message}}
    twice = [hexed(playground.sign(ALICE, 0))] * 2
    assert "nonce" in ask("testing_buildBlockV1", head, told, twice)["error"]["message"]


@pytest.mark.parametrize(
    ("limits", "rules", "words"),
    [
        (PoolLimits(), PoolRules(), r"tx fee \(2.10 ether\) exceeds the configured cap"),
        (PoolLimits(fee_cap=0), PoolRules(), "only replay-protected"),
        (PoolLimits(fee_cap=0), PoolRules(allows_unprotected=True), None),
    ],
)
def test_what_is_only_passed_on_keeps_the_networks_limits_and_rules_too(
    limits: PoolLimits, rules: PoolRules, words: str | None, playground: Playground
) -> None:
    encoded = plain(ALICE, 0, chainId=None, gasPrice=10**14)
    passed_on: list[bytes] = []

    async def relay(transaction: bytes) -> None:
        passed_on.append(transaction)

    relaying = TransactionRelay(playground.chain.spec, relay, limits, rules)
    steps = relaying.send_raw_transaction(RawTransactionParameters(Data(encoded)))
    if words is None:
        call = next(steps)
        assert isinstance(call, Await)
        trio.run(call.function)
        assert passed_on == [encoded]
    else:
        with pytest.raises(RpcError, match=words):
            next(steps)
