"""Blocks of a made Starknet chain of any size, rendered once, as nodes answer them."""

import json
import random
from typing import Any

import msgspec

from wsnode.starknet.native import RefusedBlockError, verify_starknet_block

CHAIN_ID = "SN_TEST"
ACCOUNTS = 2_000
CONTRACTS = 200
SLOTS_EACH = 1_000
"""Slots that each contract writes by turns."""
FELT_BITS = 250
BLOCK_SECONDS = 2
HIDDEN = ("status", "block_hash", "parent_hash", "new_root")
"""Members of a block that it gets when it is sealed."""

Json = dict[str, Any]


class BlockSize(msgspec.Struct, frozen=True):
    """Numbers of transactions, events and slots of a block."""

    transactions: int
    events: int
    slots_each: int = 4
    """Slots that a transaction writes."""


class RenderedBlock(msgspec.Struct, frozen=True):
    """A block as JSON texts."""

    number: int
    hash: str
    header: bytes
    whole: bytes
    """Result of `getBlockWithReceipts`."""
    update: bytes
    """Result of `getStateUpdate`."""
    hashes: bytes
    """Result of `getBlockWithTxHashes`."""
    under_way: bytes
    under_way_update: bytes
    """The same as pre-confirmed block."""


class BlockMaker:
    """Maker of a chain, block by block; its state roots are random, as only a full node would notice."""

    def __init__(self, size: BlockSize, seed: int = 1) -> None:
        self._size = size
        self._random = random.Random(seed)
        self._accounts = [self._felt() for _ in range(ACCOUNTS)]
        self._contracts = [self._felt() for _ in range(CONTRACTS)]
        self._nonces = dict.fromkeys(self._accounts, 0)
        self._number = 0
        self._parent, self._root = "0x0", "0x0"

    def make(self) -> RenderedBlock:
        """Return the next block."""
        size, number = self._size, self._number
        # Each sender has one transaction, so its nonce after the block is one more.
        senders = self._random.sample(self._accounts, size.transactions)
        spread = [size.events // size.transactions] * size.transactions
        for index in range(size.events % size.transactions):
            spread[index] += 1
        entries = [self._entry(*pair) for pair in zip(senders, spread, strict=True)]
        for sender in senders:
            self._nonces[sender] += 1
        root = self._felt()
        block: Json = {
            "status": "ACCEPTED_ON_L2",
            "block_hash": "0x1",
            "parent_hash": self._parent,
            "block_number": number,
            "new_root": root,
            "timestamp": 1_760_000_000 + BLOCK_SECONDS * number,
            "sequencer_address": "0x9",
            "l1_da_mode": "BLOB",
            "starknet_version": "0.14.1",
            **{f"{kind}_gas_price": self._price() for kind in ("l1", "l1_data", "l2")},
            "transactions": entries,
        }
        update = {
            "block_hash": "0x1",
            "old_root": self._root,
            "new_root": root,
            "state_diff": self._difference(senders),
        }
        _seal(block, update)
        self._number, self._parent, self._root = number + 1, block["block_hash"], root
        return _rendered(block, update)

    def _felt(self) -> str:
        return hex(self._random.getrandbits(FELT_BITS))

    def _price(self) -> Json:
        return {"price_in_wei": hex(self._random.getrandbits(30)), "price_in_fri": self._felt()[:16]}

    def _entry(self, sender: str, events: int) -> Json:
        calldata = [hex(self._random.getrandbits(self._random.choice((1, 64, 250)))) for _ in range(16)]
        bound = {"max_amount": "0x10000", "max_price_per_unit": "0x200000000"}
        transaction: Json = {
            "type": "INVOKE",
            "version": "0x3",
            "nonce": hex(self._nonces[sender]),
            "tip": "0x0",
            "resource_bounds": dict.fromkeys(("l1_gas", "l2_gas", "l1_data_gas"), bound),
            "paymaster_data": [],
            "nonce_data_availability_mode": "L1",
            "fee_data_availability_mode": "L1",
            "signature": [self._felt(), self._felt()],
            "sender_address": sender,
            "calldata": calldata,
            "account_deployment_data": [],
        }
        receipt = {
            "type": "INVOKE",
            "transaction_hash": _transaction_hash(transaction),
            "actual_fee": {"amount": hex(self._random.getrandbits(50)), "unit": "FRI"},
            "finality_status": "ACCEPTED_ON_L2",
            "execution_status": "SUCCEEDED",
            "messages_sent": [],
            "events": [self._event() for _ in range(events)],
            "execution_resources": {"l1_gas": 0, "l1_data_gas": 192, "l2_gas": self._random.getrandbits(24)},
        }
        return {"transaction": transaction, "receipt": receipt}

    def _event(self) -> Json:
        keys = ["0x99cd8bde557814842a3121e8ddfd433a539b8c9f14bf31ebf108d12e6196e9", self._felt()]
        data = [hex(self._random.getrandbits(bits)) for bits in (250, 90, 1)]
        return {"from_address": self._random.choice(self._contracts), "keys": keys, "data": data}

    def _difference(self, senders: list[str]) -> Json:
        slots: dict[str, dict[str, str]] = {}
        for _ in range(len(senders) * self._size.slots_each):
            place = self._random.randrange(CONTRACTS)
            key = hex(1 + 31**9 * (place * SLOTS_EACH + self._random.randrange(SLOTS_EACH)))
            slots.setdefault(self._contracts[place], {})[key] = self._felt()
        return {
            "storage_diffs": [
                {
                    "address": address,
                    "storage_entries": [{"key": key, "value": slots[address][key]} for key in slots[address]],
                }
                for address in slots
            ],
            "nonces": [{"contract_address": each, "nonce": hex(self._nonces[each])} for each in senders],
            "deployed_contracts": [],
            "replaced_classes": [],
            "declared_classes": [],
            "deprecated_declared_classes": [],
        }


def _transaction_hash(transaction: Json) -> str:
    """Return the hash that the engine finds for a transaction, in a block of nothing else."""
    receipt = {
        "type": transaction["type"],
        "transaction_hash": "0x1",
        "actual_fee": {"amount": "0x0", "unit": "FRI"},
        "execution_status": "SUCCEEDED",
        "finality_status": "ACCEPTED_ON_L2",
        "messages_sent": [],
        "events": [],
        "execution_resources": {"l1_gas": 0, "l1_data_gas": 0, "l2_gas": 0},
    }
    price = {"price_in_wei": "0x1", "price_in_fri": "0x1"}
    block = {
        "block_hash": "0x1",
        "parent_hash": "0x0",
        "block_number": 0,
        "new_root": "0x1",
        "timestamp": 1,
        "sequencer_address": "0x9",
        "l1_da_mode": "BLOB",
        "starknet_version": "0.14.1",
        **{f"{kind}_gas_price": price for kind in ("l1", "l1_data", "l2")},
        "transactions": [{"transaction": transaction, "receipt": receipt}],
    }
    update = {"block_hash": "0x1", "old_root": "0x0", "new_root": "0x1", "state_diff": _NO_CHANGES}
    try:
        verify_starknet_block(
            json.dumps(block).encode(), json.dumps(update).encode(), CHAIN_ID, is_sealed=False
        )
    except RefusedBlockError as refused:
        if not refused.member.endswith("transaction_hash"):
            raise
        return refused.expected
    raise AssertionError("no transaction has the hash 0x1")


_NO_CHANGES: Json = {
    name: []
    for name in (
        *("storage_diffs", "nonces", "deployed_contracts", "replaced_classes"),
        *("declared_classes", "deprecated_declared_classes"),
    )
}


def _seal(block: Json, update: Json) -> None:
    """Give a block the hash that the engine finds."""
    try:
        verify_starknet_block(json.dumps(block).encode(), json.dumps(update).encode(), CHAIN_ID)
    except RefusedBlockError as refused:
        if refused.member != "block_hash":
            raise
        block["block_hash"] = update["block_hash"] = refused.expected


def _rendered(block: Json, update: Json) -> RenderedBlock:
    header = {name: value for name, value in block.items() if name != "transactions"}
    entries = block["transactions"]
    hashes = [entry["receipt"]["transaction_hash"] for entry in entries]
    shown = [
        entry | {"receipt": entry["receipt"] | {"finality_status": "PRE_CONFIRMED"}} for entry in entries
    ]
    under_way = {name: value for name, value in header.items() if name not in HIDDEN}
    encode = msgspec.json.encode
    return RenderedBlock(
        block["block_number"],
        block["block_hash"],
        encode({name: value for name, value in header.items() if name != "status"}),
        encode(block),
        encode(update),
        encode(header | {"transactions": hashes}),
        encode(under_way | {"transactions": shown}),
        encode({"state_diff": update["state_diff"]}),
    )
