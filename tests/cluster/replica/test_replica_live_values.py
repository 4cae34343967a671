"""`state` and `calls` of whole processes: workers beside one that follows, and a replica, past restarts."""

import copy
import json
import signal
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from tests.cluster.redis_server import RedisServer, needs_redis
from tests.cluster.replica.test_replica_processes import Asked, leader, replica
from tests.ethereum.live.values.test_calls import GAS, STORE_CODE
from tests.node.workers.test_sync_status_processes import pair

pytestmark = pytest.mark.slow

STRANGER = "0x" + "aa" * 20
SLOT = "0x" + "00" * 31 + "05"
CREATE = f"0x60{len(STORE_CODE) // 2:02x}8060095f395ff3{STORE_CODE}"


class Scene:
    """A development chain with a contract that stores, and what changes all that is watched."""

    def __init__(self, writer: Asked) -> None:
        self.writer = writer
        self.sender: str = writer("eth_accounts")[0]
        sent = writer("eth_sendTransaction", {"from": self.sender, "data": CREATE, "gas": hex(10**6)})
        self.stored: str = writer("eth_getTransactionReceipt", sent)["contractAddress"]

    def change(self, value: int) -> None:
        """Make blocks in which all that is watched gets another value."""
        data = f"0x{5:064x}{value:064x}"
        self.writer("eth_sendTransaction", {"from": self.sender, "to": STRANGER, "value": hex(value)})
        call = {"from": self.sender, "to": self.stored, "data": data, "gas": "0x30000"}
        self.writer("eth_sendTransaction", call)


class Holder:
    """A subscriber that holds what its last notification left it with."""

    kind: str

    def __init__(self, connection: ClientConnection, scene: Scene, cursor: str | None = None) -> None:
        self.scene = scene
        self.cursor = cursor
        self.held: dict[Any, dict[str, Any]] = {}
        self.place: tuple[str, str] | None = None
        """Number and hash of the block that was named last."""
        self.is_complete: list[bool] = []
        self._connection = connection
        start = {"cursors": True} if cursor is None else {"cursor": cursor}
        request = {"id": 1, "method": "eth_subscribe", "params": [self.kind, {**self.watched, **start}]}
        connection.send(json.dumps({"jsonrpc": "2.0", **request}))
        assert "result" in json.loads(connection.recv(60))

    @property
    def watched(self) -> dict[str, Any]:
        """Return what is subscribed to."""
        raise NotImplementedError

    def apply(self, result: dict[str, Any]) -> None:
        """Hold what a notification has."""
        raise NotImplementedError

    def values_at(self, block: Any) -> dict[Any, dict[str, Any]]:
        """Return what the writer says is there after a block that it keeps."""
        raise NotImplementedError

    def read(self) -> dict[str, Any]:
        """Take the next notification, and return it."""
        params: dict[str, Any] = json.loads(self._connection.recv(60))["params"]
        if "result" not in params:
            return params
        result, self.cursor = params["result"], params["cursor"]
        self.is_complete.append("complete" in result)
        self.place = result["blockNumber"], result["blockHash"]
        self.apply(result)
        return params

    def read_up_to_head(self) -> None:
        """Read until the writer's head is named, and compare what is held after each block that is left."""
        block = self.scene.writer("eth_getBlockByNumber", "latest", False)
        told: dict[str, Any] = {}
        while self.place != (block["number"], block["hash"]):
            self.read()
            assert self.place is not None
            told[self.place[1]] = copy.deepcopy(self.held)
        for block_hash, held in told.items():
            there = {"blockHash": block_hash}
            if "result" in self.scene.writer.answer("eth_getBalance", STRANGER, there):
                assert held == self.values_at(there)

    def read_patch(self) -> None:
        """Take the notification of a patch, which names the block again that was named last."""
        place = self.place
        self.read()
        assert self.place == place
        assert self.held == self.values_at("latest")


class StateHolder(Holder):
    """One that holds values of the state, by address."""

    kind = "state"

    @property
    def watched(self) -> dict[str, Any]:
        """Return what is subscribed to."""
        return {"accounts": [self.scene.sender, STRANGER], "slots": {self.scene.stored: [SLOT]}}

    def apply(self, result: dict[str, Any]) -> None:
        """Hold what a notification has."""
        for address, members in result["accounts"].items():
            held = self.held.setdefault(address, {})
            slots = {**held.get("slots", {}), **members.get("slots", {})}
            held |= members | ({"slots": slots} if slots else {})

    def values_at(self, block: Any) -> dict[Any, dict[str, Any]]:
        """Return what eth_getProof has."""
        values: dict[Any, dict[str, Any]] = {}
        for address in self.held:
            slots = [SLOT] if address == self.scene.stored else []
            proof = self.scene.writer("eth_getProof", address, slots, block)
            if slots:
                values[address] = {"slots": {SLOT: f"0x{int(proof['storageProof'][0]['value'], 16):064x}"}}
            else:
                values[address] = {name: proof[name] for name in ("nonce", "balance", "codeHash")}
        return values


class CallHolder(Holder):
    """One that holds outcomes of calls, by their place; the last of them differs with each height."""

    kind = "calls"

    @property
    def watched(self) -> dict[str, Any]:
        """Return what is subscribed to."""
        balance = f"0x73{STRANGER[2:]}315f5260205ff3"
        return {
            "calls": [
                {"to": self.scene.stored, "data": SLOT},
                {"data": balance},
                {"data": "0x435f5260205ff3"},
            ]
        }

    def apply(self, result: dict[str, Any]) -> None:
        """Hold what a notification has."""
        self.held |= {entry.pop("index"): entry for entry in result["results"]}

    def values_at(self, block: Any) -> dict[Any, dict[str, Any]]:
        """Return what eth_call has."""
        values: dict[Any, dict[str, Any]] = {}
        for index, call in enumerate(self.watched["calls"]):
            reply = self.scene.writer.answer("eth_call", {"gas": hex(GAS), **call}, block)
            values[index] = {name: reply[name] for name in reply if name in ("result", "error")}
        return values


both = pytest.mark.parametrize("holding", [StateHolder, CallHolder], ids=["state", "calls"])


def last_cursor(holder: Holder) -> str:
    """Read until the node says that it restarts and closes; return the cursor to go on from."""
    while "error" not in (params := holder.read()):
        pass
    assert params["error"]["code"] == -32006
    with pytest.raises(ConnectionClosed) as closed:
        holder.read()
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1012
    cursor: str = params["error"]["data"]["cursor"]
    return cursor


@both
def test_workers_tell_the_values_of_each_head_and_a_cursor_outlives_them(
    holding: type[Holder], tmp_path: Path
) -> None:
    with pair(tmp_path) as (upstream, node):
        scene = Scene(Asked(upstream))
        with connect(node.socket_url) as one, connect(node.socket_url) as two:
            holders = [holding(each, scene) for each in (one, two)]
            for value in (1, 2):
                scene.change(value)
                for holder in holders:
                    holder.read_up_to_head()
            scene.writer("anvil_reorg", 2, [])
            scene.change(3)
            for holder in holders:
                holder.read_up_to_head()
            node.process.send_signal(signal.SIGUSR1)
            cursors = [last_cursor(holder) for holder in holders]
        scene.change(4)
        for holder, cursor in zip(holders, cursors, strict=True):
            with connect(node.socket_url) as connection:
                resumed = holding(connection, scene, cursor)
                resumed.held = holder.held
                resumed.read_up_to_head()
                assert not any(resumed.is_complete)


@both
@needs_redis
def test_a_replica_tells_the_values_of_its_writer_and_takes_its_cursors(
    holding: type[Holder], redis: RedisServer, tmp_path: Path
) -> None:
    with leader(redis, tmp_path) as writer, replica(redis, tmp_path) as follower:
        scene = Scene(writer)
        with connect(follower.node.socket_url) as connection, connect(writer.node.socket_url) as beside:
            holder, first = holding(connection, scene), holding(beside, scene)
            scene.change(1)
            holder.read_up_to_head()
            first.read_up_to_head()
            # A patch is a record of the journal too, and changes a block's state.
            writer("anvil_setBalance", STRANGER, "0x77")
            holder.read_patch()
            first.read_patch()
            scene.change(2)
            writer("anvil_reorg", 2, [])
            scene.change(3)
            holder.read_up_to_head()
            first.read_up_to_head()
            assert (holder.held, holder.cursor) == (first.held, first.cursor)
        scene.change(4)
        with connect(follower.node.socket_url) as connection:
            resumed = holding(connection, scene, first.cursor)
            resumed.held = first.held
            resumed.read_up_to_head()
            assert not any(resumed.is_complete)
