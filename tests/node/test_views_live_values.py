"""`state` and `calls` over sockets: patches of a development chain, blocks, going back, and a fork of it."""

import json
import re
from typing import Any
from urllib.request import urlopen

import pytest
from websockets.sync.client import ClientConnection, connect

from tests.node_process import PATIENCE, Node, started, until

WATCHED = "0x" + "aa" * 20
SLOT = "0x" + "00" * 31 + "05"


class Caller:
    """A connection with one subscription."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._told: list[dict[str, Any]] = []

    def ask(self, method: str, *params: Any) -> Any:
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        self._connection.send(json.dumps(request))
        while "id" not in (message := json.loads(self._connection.recv(PATIENCE))):
            self._told.append(message["params"]["result"])
        assert "result" in message, message
        return message["result"]

    def told(self) -> dict[str, Any]:
        """Return the next notification's result."""
        if self._told:
            return self._told.pop(0)
        result: dict[str, Any] = json.loads(self._connection.recv(PATIENCE))["params"]["result"]
        return result


def live_calls(node: Node) -> int:
    """Return how many values are watched."""
    with urlopen(f"{node.bare(node.http_url)}metrics") as answer:
        found = re.search(r"^wsnode_live_calls\{.*\} (\d+)", answer.read().decode(), re.MULTILINE)
    assert found is not None
    return int(found[1])


def watch(caller: Caller) -> dict[str, Any]:
    """Subscribe, and return the first values."""
    caller.ask("eth_subscribe", "state", {"accounts": [WATCHED], "slots": {WATCHED: [SLOT]}})
    first = caller.told()
    assert first["complete"] is True
    values: dict[str, Any] = first["accounts"][WATCHED]
    return values


@pytest.mark.slow
def test_each_patch_and_each_block_of_a_development_chain_is_a_step() -> None:
    with started("dev", "--listen", "127.0.0.1:0") as node, connect(node.socket_url) as connection:
        caller = Caller(connection)
        assert watch(caller) == {
            "nonce": "0x0",
            "balance": "0x0",
            "codeHash": "0x" + "00" * 32,
            "slots": {SLOT: "0x" + "00" * 32},
        }
        assert live_calls(node) == 2
        snapshot = caller.ask("evm_snapshot")
        caller.ask("anvil_setBalance", WATCHED, "0x7")
        assert caller.told()["accounts"][WATCHED]["balance"] == "0x7"
        caller.ask("anvil_setStorageAt", WATCHED, SLOT, "0x" + "00" * 31 + "09")
        assert caller.told()["accounts"] == {WATCHED: {"slots": {SLOT: "0x" + "00" * 31 + "09"}}}
        sender = caller.ask("eth_accounts")[0]
        caller.ask("eth_sendTransaction", {"from": sender, "to": WATCHED, "value": "0x3"})
        paid = caller.told()
        assert (paid["blockNumber"], paid["accounts"]) == ("0x1", {WATCHED: {"balance": "0xa"}})
        caller.ask("evm_revert", snapshot)
        back = caller.told()
        assert back["blockNumber"] == "0x0"
        assert back["accounts"][WATCHED] == {
            "balance": "0x0",
            "codeHash": "0x" + "00" * 32,
            "slots": {SLOT: "0x" + "00" * 32},
        }
        connection.close()
        until("nothing is watched", lambda: live_calls(node) == 0)


@pytest.mark.slow
def test_what_a_forked_chain_does_not_know_yet_is_fetched_before_the_reply() -> None:
    with started("dev", "--listen", "127.0.0.1:0") as other, connect(other.socket_url) as connection:
        caller = Caller(connection)
        caller.ask("anvil_setBalance", WATCHED, "0x7")
        caller.ask("anvil_setStorageAt", WATCHED, SLOT, "0x" + "00" * 31 + "09")
        caller.ask("evm_mine")
        arguments = ("dev", "--listen", "127.0.0.1:0", "--fork-url", other.http_url)
        with started(*arguments) as node, connect(node.socket_url) as forked:
            caller = Caller(forked)
            values = watch(caller)
            assert (values["balance"], values["slots"]) == ("0x7", {SLOT: "0x" + "00" * 31 + "09"})
            sender = caller.ask("eth_accounts")[0]
            caller.ask("eth_sendTransaction", {"from": sender, "to": WATCHED, "value": "0x3"})
            assert caller.told()["accounts"] == {WATCHED: {"balance": "0xa"}}


READER = "0x" + "bb" * 20
READS_SLOT = "0x60055460005260206000f3"
"""Code that returns slot 5."""
CALL = {"to": READER, "gas": hex(50_000_000)}


def word(number: int) -> str:
    return f"0x{number:064x}"


def require_told(caller: Caller, value: int) -> None:
    """Assert that the next outcome is this one, and that eth_call has it at the block that it names."""
    told = caller.told()
    assert told["results"] == [{"index": 0, "result": word(value)}]
    assert caller.ask("eth_call", CALL, {"blockHash": told["blockHash"]}) == word(value)


@pytest.mark.slow
def test_calls_follow_patches_blocks_and_going_back_on_a_chain_and_on_its_fork() -> None:
    with started("dev", "--listen", "127.0.0.1:0") as other, connect(other.socket_url) as connection:
        caller = Caller(connection)
        caller.ask("anvil_setCode", READER, READS_SLOT)
        caller.ask("anvil_setStorageAt", READER, SLOT, word(9))
        caller.ask("evm_mine")
        arguments = ("dev", "--listen", "127.0.0.1:0", "--fork-url", other.http_url)
        with started(*arguments) as node, connect(node.socket_url) as forked:
            for each in (caller, Caller(forked)):
                each.ask("eth_subscribe", "calls", {"calls": [{"to": READER}]})
                require_told(each, 9)
                snapshot = each.ask("evm_snapshot")
                each.ask("anvil_setStorageAt", READER, SLOT, word(7))
                require_told(each, 7)
                each.ask("evm_mine")
                each.ask("anvil_setStorageAt", READER, SLOT, word(8))
                require_told(each, 8)
                each.ask("evm_revert", snapshot)
                require_told(each, 9)
            forked.close()
            until("no call is watched", lambda: live_calls(node) == 0)
