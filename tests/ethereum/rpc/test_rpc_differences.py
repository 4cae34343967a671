"""What is answered otherwise than by geth, on purpose."""

import time

from tests.memory_transport import Ask

ADDRESS = "0x7dcd17433742f4c0ca53122ab541d0ba67fc27df"
ZERO = "0x" + "00" * 20
HEAD = "0xd226371d0b1551adb03fb52b71f08e3e11247fe9b1af994768af8cdaa8e7dcd7"
MERGE = "0x24"
TERMINAL_TOTAL_DIFFICULTY = 4732352


def test_the_services_callers_get_total_difficulty(ask: Ask) -> None:
    block = ask("eth_getBlockByNumber", MERGE, False, service_form=True)["result"]
    assert int(block["totalDifficulty"], 16) >= TERMINAL_TOTAL_DIFFICULTY
    by_hash = ask("eth_getBlockByHash", block["hash"], False, service_form=True)["result"]
    assert by_hash == block
    genesis = ask("eth_getBlockByNumber", "earliest", True, service_form=True)["result"]
    assert genesis["totalDifficulty"] == genesis["difficulty"]


def test_a_plain_nodes_callers_do_not(ask: Ask) -> None:
    plain = ask("eth_getBlockByNumber", MERGE, False)["result"]
    service = ask("eth_getBlockByNumber", MERGE, False, service_form=True)["result"]
    assert service.pop("totalDifficulty")
    assert plain == service


def test_the_pending_block_has_the_specifications_nulls_for_the_services_callers(ask: Ask) -> None:
    began = int(time.time())
    block = ask("eth_getBlockByNumber", "pending", True, service_form=True)["result"]
    assert began <= int(block["timestamp"], 16) <= time.time()
    assert {name for name, value in block.items() if value is None} == {
        "hash",
        "nonce",
        "logsBloom",
        "number",
    }
    assert (block["parentHash"], block["transactions"], block["uncles"]) == (HEAD, [], [])
    head = ask("eth_getBlockByNumber", "latest", False, service_form=True)["result"]
    assert block["totalDifficulty"] == head["totalDifficulty"]
    # On its way down to 60 million, as with geth.
    limit = int(head["gasLimit"], 16)
    assert int(block["gasLimit"], 16) == limit - limit // 1024 + 1 > 60_000_000


def test_the_pending_block_has_geths_nulls_for_a_plain_nodes_callers(ask: Ask) -> None:
    block = ask("eth_getBlockByNumber", "pending", False)["result"]
    assert {name for name, value in block.items() if value is None} == {"hash", "nonce", "miner"}
    assert (block["number"], block["logsBloom"]) == ("0x37", "0x" + "00" * 256)
    assert block["baseFeePerGas"] == ask("eth_baseFee")["result"]
    assert "totalDifficulty" not in block


def test_payloads_that_differ_are_refused(ask: Ask) -> None:
    message = (
        'both "data" and "input" are set and not equal. Please use "input" to pass transaction call data'
    )
    for method in ("eth_call", "eth_estimateGas"):
        reply = ask(method, {"to": ZERO, "data": "0x01", "input": "0x02"})
        assert reply == {"error": {"code": -32000, "message": message}}


def test_a_tip_above_the_most_is_refused_before_the_call_begins(ask: Ask) -> None:
    for method in ("eth_call", "eth_estimateGas"):
        reply = ask(method, {"to": ZERO, "maxFeePerGas": "0x1", "maxPriorityFeePerGas": "0x2"})
        message = "maxFeePerGas (0x1) < maxPriorityFeePerGas (0x2)"
        assert reply == {"error": {"code": -32000, "message": message}}


def test_gas_is_capped_at_ten_times_the_blocks_limit(ask: Ask) -> None:
    gas_left = {ADDRESS: {"code": "0x5a5f5260205ff3"}}
    limit = int(ask("eth_getBlockByNumber", "latest", False)["result"]["gasLimit"], 16)
    for call in ({"to": ADDRESS}, {"to": ADDRESS, "gas": "0xffffffffffffffff"}):
        left = int(ask("eth_call", call, "latest", gas_left)["result"], 16)
        assert 10 * limit - 21_100 < left < 10 * limit - 21_000


def test_more_parameters_than_the_limit_are_refused(ask: Ask) -> None:
    topic = "0x" + "22" * 32
    error = {
        "code": -32602,
        "message": "query contains 5001 filters. The current limit is 5000",
        "data": {"count": 5001, "limit": 5000},
    }
    assert ask("eth_getLogs", {"address": [ADDRESS] * 2001, "topics": [[topic] * 3000]}) == {"error": error}
    assert ask("eth_getLogs", {"address": [ADDRESS] * 2000, "topics": [[topic] * 3000]}) == {"result": []}


def test_an_unknown_method_is_named(ask: Ask) -> None:
    message = "the method eth_foo does not exist/is not available"
    assert ask("eth_foo") == {"error": {"code": -32601, "message": message}}


def test_the_node_says_what_it_is_and_which_methods_it_has(ask: Ask) -> None:
    assert ask("web3_clientVersion")["result"].startswith("wsnode/v")
    assert {"eth", "net", "web3", "rpc"} <= ask("rpc_modules")["result"].keys()
