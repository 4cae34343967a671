"""A made Starknet chain with transactions, events and classes, and a node that answers for it."""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec
import trio
from trio_websocket import ConnectionClosed

from tests.upstream.providers import Error, SocketProvider
from wsnode.starknet.classes.decode import decode_class
from wsnode.starknet.diff_json import decode_state_diff
from wsnode.starknet.felt import felt_bytes, felt_text
from wsnode.starknet.native import RefusedBlockError, StarknetTries, verify_starknet_block

Json = dict[str, Any]
CHAIN_ID = "SN_TEST"
ACCOUNT, TOKEN = "0xacc", "0x1"
BOUND = {"max_amount": "0x10", "max_price_per_unit": "0x20"}
PRICE = {"price_in_wei": "0x1", "price_in_fri": "0x2"}
HEADS = "7"
NOT_SAID = object()

Lie = Callable[[str, Any], Any]
"""Returns what is told in the place of a method's result."""


def sierra_class(word: int) -> Json:
    """Return a small class; no two words make the same."""
    return {
        "sierra_program": [hex(word), "0x2"],
        "contract_class_version": "0.1.0",
        "abi": "[]",
        "entry_points_by_type": {"CONSTRUCTOR": [], "EXTERNAL": [], "L1_HANDLER": []},
    }


class MadeBlock:
    """A block and its state update, as nodes answer them."""

    def __init__(self, block: Json, update: Json) -> None:
        self.block, self.update = block, update

    @property
    def hash(self) -> str:
        return str(self.block["block_hash"])

    @property
    def number(self) -> int:
        return int(self.block["block_number"])


class MadeChain:
    """Blocks that the engine accepts; `reorganise` makes others in their place."""

    def __init__(self) -> None:
        self.blocks: list[MadeBlock] = []
        self.classes: dict[str, Json] = {}
        self._made = 0
        self._tries: StarknetTries | None = None
        self.grow()

    @property
    def head(self) -> MadeBlock:
        return self.blocks[-1]

    def grow(self, count: int = 1) -> None:
        for _ in range(count):
            self.blocks.append(self._next())

    def grow_with_another_root(self) -> None:
        """Add a block whose hash is right, and whose state root is not that of its difference."""
        made = self._next()
        made.block["new_root"] = made.update["new_root"] = "0x7777"
        self.blocks.append(_sealed(made))

    def reorganise(self, depth: int, count: int) -> None:
        """Drop blocks and make others."""
        del self.blocks[len(self.blocks) - depth :]
        self._tries = None
        self.grow(count)

    def under_way(self, count: int) -> MadeBlock:
        """Return the next block, as a node shows it with its first `count` transactions."""
        chain = self.copy()
        chain.grow()
        block, update = chain.head.block, chain.head.update
        shown = [copy.deepcopy(pair) for pair in block["transactions"][:count]]
        for pair in shown:
            pair["receipt"]["finality_status"] = "PRE_CONFIRMED"
        diff = update["state_diff"] if shown else {name: [] for name in update["state_diff"]}
        if shown:
            nonce = hex(int(shown[-1]["transaction"]["nonce"], 16) + 1)
            diff = diff | {"nonces": [{"contract_address": ACCOUNT, "nonce": nonce}]}
        hidden = {"status", "block_hash", "parent_hash", "new_root"}
        header = {name: value for name, value in block.items() if name not in hidden}
        self.classes.update(chain.classes)
        return MadeBlock(header | {"transactions": shown}, {"state_diff": diff})

    def slot(self, number: int, key: str) -> str:
        """Return the value of a slot of the token after a block."""
        value = "0x0"
        for made in self.blocks[: number + 1]:
            (entry,) = made.update["state_diff"]["storage_diffs"][0]["storage_entries"]
            value = entry["value"] if entry["key"] == key else value
        return value

    def prove(self, params: Json) -> Json:
        """Return a storage proof of a block that is named by its hash."""
        named = params["block_id"]["block_hash"]
        number = next(made.number for made in self.blocks if made.hash == named)
        tries = StarknetTries()
        for made in self.blocks[: number + 1]:
            tries.apply(*_packed(made.update["state_diff"]))
        contracts = b"".join(map(felt_bytes, params["contract_addresses"]))
        slots = [
            (felt_bytes(row["contract_address"]), b"".join(map(felt_bytes, row["storage_keys"])))
            for row in params["contracts_storage_keys"]
        ]
        classes = b"".join(map(felt_bytes, params.get("class_hashes", ())))
        proof: Json = json.loads(tries.prove(classes, contracts, slots, felt_bytes(named)))
        return proof

    def copy(self) -> MadeChain:
        """Return another chain that goes on from the same blocks."""
        return copy.copy(self)._forked()

    def _forked(self) -> MadeChain:
        self.blocks, self._tries = list(self.blocks), None
        return self

    def _next(self) -> MadeBlock:
        self._made += 1
        number = len(self.blocks)
        diff: Json = {
            "storage_diffs": [
                {"address": TOKEN, "storage_entries": [{"key": hex(number), "value": hex(self._made)}]}
            ],
            "nonces": [{"contract_address": ACCOUNT, "nonce": hex(self._made)}],
            "deployed_contracts": [],
            "replaced_classes": [],
            "declared_classes": [],
            "deprecated_declared_classes": [],
        }
        if number % 3 == 0:
            found = sierra_class(self._made)
            class_hash = felt_text(decode_class(json.dumps(found).encode()).class_hash)
            self.classes[class_hash] = found
            diff["declared_classes"] = [{"class_hash": class_hash, "compiled_class_hash": "0xc"}]
            diff["deployed_contracts"] = [{"address": hex(0xDE00 + self._made), "class_hash": class_hash}]
        block: Json = {
            "status": "ACCEPTED_ON_L2",
            "block_hash": "0x1",
            "parent_hash": self.blocks[-1].hash if self.blocks else "0x0",
            "block_number": number,
            "new_root": self._root(diff),
            "timestamp": 1_700_000_000 + 2 * number,
            "sequencer_address": "0x9",
            "starknet_version": "0.14.1",
            "l1_da_mode": "BLOB",
            **{f"{kind}_gas_price": PRICE for kind in ("l1", "l1_data", "l2")},
            "transactions": [self._transaction(index) for index in range(number % 3)],
        }
        old_root = self.blocks[-1].block["new_root"] if self.blocks else "0x0"
        update = {
            "block_hash": "0x1",
            "old_root": old_root,
            "new_root": block["new_root"],
            "state_diff": diff,
        }
        return _sealed(MadeBlock(block, update))

    def _root(self, diff: Json) -> str:
        """Return the root of the state after a difference."""
        if self._tries is None:
            self._tries = StarknetTries()
            for made in self.blocks:
                self._tries.apply(*_packed(made.update["state_diff"]))
        self._tries.apply(*_packed(diff))
        return felt_text(self._tries.root(True))

    def _transaction(self, index: int) -> Json:
        transaction = {
            "type": "INVOKE",
            "version": "0x3",
            "nonce": hex(self._made),
            "tip": "0x0",
            "resource_bounds": dict.fromkeys(("l1_gas", "l2_gas", "l1_data_gas"), BOUND),
            "paymaster_data": [],
            "nonce_data_availability_mode": "L1",
            "fee_data_availability_mode": "L1",
            "signature": ["0x1", hex(index)],
            "sender_address": ACCOUNT,
            "calldata": [hex(self._made), hex(index)],
            "account_deployment_data": [],
        }
        receipt = {
            "type": "INVOKE",
            "transaction_hash": "0x1",
            "actual_fee": {"amount": "0x5", "unit": "FRI"},
            "finality_status": "ACCEPTED_ON_L2",
            "execution_status": "SUCCEEDED",
            "messages_sent": [],
            "events": [
                {"from_address": TOKEN, "keys": ["0x1"], "data": [hex(self._made), hex(index), hex(each)]}
                for each in range(2)
            ],
            "execution_resources": {"l1_gas": 1, "l1_data_gas": 2, "l2_gas": 3},
        }
        return {"transaction": transaction, "receipt": receipt}


def _packed(diff: Json) -> tuple[bytes, bytes, bytes, bytes]:
    return decode_state_diff(json.dumps(diff).encode()).packed()


def _sealed(made: MadeBlock) -> MadeBlock:
    """Return a block with the hashes that the engine finds in the place of those that are told."""
    block, update = made.block, made.update
    while True:
        try:
            proof = verify_starknet_block(json.dumps(block).encode(), json.dumps(update).encode(), CHAIN_ID)
        except RefusedBlockError as refused:
            if "transaction_hash" in refused.member:
                index = int(refused.member.partition("[")[2].partition("]")[0])
                block["transactions"][index]["receipt"]["transaction_hash"] = refused.expected
                continue
            if refused.member != "block_hash":
                raise
            block["block_hash"] = update["block_hash"] = refused.expected
            continue
        told = felt_text(proof.hash)
        if block["block_hash"] == told:
            return made
        block["block_hash"] = update["block_hash"] = told


class MadeNode:
    """A node of a made chain over WebSocket; `lies` answer in its place, or leave it by NOT_SAID."""

    def __init__(self, chain: MadeChain, nursery: trio.Nursery, version: str = "0.10.3") -> None:
        self.chain = chain
        self.provider = SocketProvider(nursery, self._answer)
        self.version = version
        self.chain_id = CHAIN_ID
        self.l1_accepted = 0
        self.asked: Counter[str] = Counter()
        self.announces = True
        self.lie: Lie = lambda _method, _result: NOT_SAID
        self.under_way: MadeBlock | None = None
        """Block that is being built, as it is shown."""
        self.answers: dict[str, Callable[[Json], Any]] = {}
        """Answers of further methods to their parameters, by name."""

    def _answer(self, method: str, params: Any) -> Any:
        name = method.removeprefix("starknet_")
        self.asked[name] += 1
        result = self._result(name, params)
        if isinstance(result, Error):
            return result
        told = self.lie(name, copy.deepcopy(result))
        return result if told is NOT_SAID else told

    def _result(self, name: str, params: Json) -> Any:
        if (answer := self.answers.get(name)) is not None:
            return answer(params)
        if name == "specVersion":
            return self.version
        if name == "chainId":
            return "0x" + self.chain_id.encode().hex()
        if name == "blockHashAndNumber":
            return {"block_hash": self.chain.head.hash, "block_number": self.chain.head.number}
        if name == "subscribeNewHeads":
            return HEADS if self.announces else Error(-32601, "no subscriptions")
        is_under_way = params["block_id"] == "pre_confirmed"
        found = self.under_way if is_under_way else self._block(params["block_id"])
        if found is None:
            return Error(24, "Block not found")
        if name == "getBlockWithReceipts":
            return found.block
        if name == "getBlockWithTxHashes":
            hashes = [each["receipt"]["transaction_hash"] for each in found.block["transactions"]]
            return found.block | {"transactions": hashes}
        if name == "getStateUpdate":
            return found.update
        if name == "getClass":
            return self.chain.classes.get(params["class_hash"], Error(28, "Class hash not found"))
        return Error(-32601, "Method not found")

    def _block(self, block_id: Any) -> MadeBlock | None:
        if block_id == "l1_accepted":
            return self.chain.blocks[self.l1_accepted]
        if "block_number" in block_id:
            number = block_id["block_number"]
            return self.chain.blocks[number] if number < len(self.chain.blocks) else None
        blocks = (each for each in self.chain.blocks if each.hash == block_id["block_hash"])
        return next(blocks, None)

    async def tell(self, **changed: Any) -> None:
        """Announce the head, with these members changed."""
        header = {name: value for name, value in self.chain.head.block.items() if name != "transactions"}
        params = {"subscription_id": int(HEADS), "result": header | changed}
        text = msgspec.json.encode({"method": "starknet_subscriptionNewHeads", "params": params}).decode()
        for connection in self.provider.connections:
            # A connection that has ended may not know it yet.
            with suppress(ConnectionClosed):
                if connection.closed is None:
                    await connection.send_message(text)

    async def grow(self, count: int = 1) -> None:
        self.chain.grow(count)
        await self.tell()

    async def reorganise(self, depth: int, count: int) -> None:
        self.chain.reorganise(depth, count)
        await self.tell()
