"""Logs of transfers of ether (EIP-7708) in a whole process: receipts, bloom, filters and subscriptions."""

import json
from typing import Any

import pytest
from websockets.sync.client import connect

from tests.node_process import PATIENCE, started
from tests.scenarios.test_following import plain, result
from wsnode.demo.accounts import ACCOUNTS
from wsnode.ethereum.codec.blocks import keccak256

pytestmark = pytest.mark.slow

SENDER, RECIPIENT = (f"0x{account.address.hex()}" for account in ACCOUNTS[:2])
TRANSFERS = "0x" + "ff" * 19 + "fe"
TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
VALUE = 5


def word(address: str) -> str:
    return "0x" + "00" * 12 + address[2:]


def is_in_bloom(bloom: str, item: str) -> bool:
    """Return whether a bloom has the three bits of an item."""
    digest, bits = keccak256(bytes.fromhex(item[2:])), int(bloom, 16)
    return all(bits >> (int.from_bytes(digest[at : at + 2], "big") & 2047) & 1 for at in (0, 2, 4))


def test_a_transfer_is_a_log_wherever_logs_are() -> None:
    options = ("--hardfork", "amsterdam", "--listen", "127.0.0.1:0", "--quiet")
    with started("dev", *options) as node, connect(node.bare(node.socket_url)) as socket:

        def told() -> Any:
            return json.loads(socket.recv(PATIENCE))

        subscribe = {"jsonrpc": "2.0", "id": 1, "method": "eth_subscribe"}
        socket.send(json.dumps(subscribe | {"params": ["logs", {"address": TRANSFERS}]}))
        name = told()["result"]
        sent = {"from": SENDER, "to": RECIPIENT, "value": hex(VALUE), "gas": "0x10000"}
        receipt = result(
            plain(node), "eth_getTransactionReceipt", result(plain(node), "eth_sendTransaction", sent)
        )
        (log,) = receipt["logs"]
        assert (log["address"], int(log["data"], 16)) == (TRANSFERS, VALUE)
        assert log["topics"] == [TRANSFER, word(SENDER), word(RECIPIENT)]
        event = told()["params"]
        assert (event["subscription"], event["result"]["topics"]) == (name, log["topics"])
        block = result(plain(node), "eth_getBlockByNumber", receipt["blockNumber"], False)
        for bloom in (receipt["logsBloom"], block["logsBloom"]):
            assert all(is_in_bloom(bloom, item) for item in (TRANSFERS, *log["topics"]))
        # None for nothing, and none to oneself.
        for quiet in ({"value": "0x0"}, {"to": SENDER}):
            result(plain(node), "eth_sendTransaction", sent | quiet)
        for criteria in (
            {"address": TRANSFERS},
            {"topics": [TRANSFER, None, word(RECIPIENT)]},
            {"address": TRANSFERS, "topics": [None, word(SENDER)]},
        ):
            span = {"fromBlock": "earliest", "toBlock": "latest", **criteria}
            assert result(plain(node), "eth_getLogs", span) == [log]
