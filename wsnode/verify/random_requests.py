"""Random calls of every reading method, about the contents of a chain, for two nodes of that chain."""

import random
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import msgspec

from wsnode.untrusted.decoding import one_error

Ask = Callable[[str, list[Any]], dict[str, Any]]
Params = list[Any]

SAMPLED_BLOCKS = 200
TRACERS: list[dict[str, Any]] = [
    {},
    {"disableStorage": True, "enableMemory": True, "enableReturnData": True},
    {"tracer": "callTracer"},
    {"tracer": "callTracer", "tracerConfig": {"onlyTopCall": True}},
    {"tracer": "callTracer", "tracerConfig": {"withLog": True}},
    {"tracer": "prestateTracer"},
    {"tracer": "prestateTracer", "tracerConfig": {"diffMode": True}},
    {"tracer": "4byteTracer"},
]
NONSENSE: list[Any] = [
    None,
    "",
    "0x",
    "0x0g",
    "0x00",
    "latest",
    -1,
    1.5,
    True,
    [],
    {},
    "0x" + "f" * 65,
    "0xabc",
]


class _Transaction(msgspec.Struct):
    hash: str
    sender: str = msgspec.field(name="from")
    to: str | None
    input: str
    value: str


class _Block(msgspec.Struct):
    hash: str
    miner: str
    transactions: list[_Transaction]


class _Log(msgspec.Struct):
    address: str
    topics: list[str]


class _Receipt(msgspec.Struct, rename="camel"):
    contract_address: str | None = None
    logs: list[_Log] = []


_BLOCK: Final = _Block | None
_RECEIPTS: Final = list[_Receipt] | None


class RandomRequest(NamedTuple):
    """Random request of a comparison: a method and its parameters."""

    method: str
    params: Params


class ChainMaterial:
    """Generator of random parameters from a chain: its blocks, transactions, accounts, topics and slots."""

    def __init__(self, head: int, chance: random.Random) -> None:
        self.head = head
        self.random = chance
        self.hashes: list[str] = []
        self.transactions: list[dict[str, Any]] = []
        self.accounts = [f"0x{number:040x}" for number in (*range(1, 18), 0xDEAD)]
        self.topics = ["0x" + "13" * 32]

    @classmethod
    def read(cls, ask: Ask, head: int, chance: random.Random) -> "ChainMaterial":
        """Return the material in a sample of the blocks up to `head`.

        Raises:
            MalformedError: The node answers with another form than a block's or a receipt's.
        """
        material = cls(head, chance)
        numbers = sorted(chance.sample(range(head + 1), min(SAMPLED_BLOCKS, head + 1)))
        accounts, topics = dict[str, None](), dict[str, None]()
        for number in numbers:
            told: Any = ask("eth_getBlockByNumber", [hex(number), True]).get("result")
            with one_error():
                block: _Block | None = msgspec.convert(told, _BLOCK)
            if block is None:
                # A node need not have all blocks.
                continue
            material.hashes.append(block.hash)
            material.transactions += told["transactions"]
            accounts[block.miner] = None
            for transaction in block.transactions:
                accounts |= dict.fromkeys(filter(None, (transaction.sender, transaction.to)))
            told = ask("eth_getBlockReceipts", [hex(number)]).get("result")
            with one_error():
                receipts: list[_Receipt] | None = msgspec.convert(told, _RECEIPTS)
            for receipt in receipts or ():
                accounts |= dict.fromkeys(filter(None, (receipt.contract_address,)))
                for log in receipt.logs:
                    accounts[log.address] = None
                    topics |= dict.fromkeys(log.topics)
        material.accounts += accounts
        material.topics += topics
        return material

    def __str__(self) -> str:
        counts = (len(self.hashes), len(self.transactions), len(self.accounts), len(self.topics))
        return "about {} blocks, {} transactions, {} accounts and {} topics".format(*counts)

    def number(self) -> int:
        return self.random.randint(0, self.head)

    def block(self) -> Any:
        """Return a block parameter; now and then a hash, an object, or a block that does not exist."""
        match self.random.randrange(20):
            case 0:
                return hex(self.head + self.random.randint(1, 1 << 20))
            case 1:
                return self.hash()
            case 2:
                return {"blockHash": self.hash(), "requireCanonical": self.random.random() < 0.5}
            case 3:
                return {"blockNumber": hex(self.number())}
            case 4:
                return "earliest"
        return hex(self.number())

    def plain_block(self) -> str:
        """Return the number of a block in hex, now and then of one that does not exist."""
        return hex(self.number() if self.random.random() < 0.95 else self.head + 1)

    def hash(self) -> str:
        """Return the hash of a block, now and then one of no block."""
        known = self.hashes and self.random.random() < 0.95
        return self.random.choice(self.hashes) if known else "0x" + "13" * 32

    def transaction(self) -> dict[str, Any]:
        if not self.transactions:
            return {
                "hash": "0x" + "13" * 32,
                "from": self.account(),
                "to": None,
                "input": "0x",
                "value": "0x0",
            }
        return self.random.choice(self.transactions)

    def account(self) -> str:
        return self.random.choice(self.accounts)

    def index(self) -> str:
        """Return an index in hex, now and then one that no block has."""
        return hex(self.random.choice((0, 0, 0, 1, 2, 5, 100, 1 << 40)))

    def slot(self) -> str:
        """Return a slot in hex, most often a low one."""
        return hex(self.random.choice((0, 0, 1, 2, 3, 7, self.random.getrandbits(256))))

    def long_slot(self) -> str:
        return f"0x{int(self.slot(), 16):064x}"

    def call(self) -> dict[str, Any]:
        """Return a call object: a transaction of the chain again, or an arbitrary one."""
        if self.random.random() < 0.3:
            past = self.transaction()
            kept = {name: past[name] for name in ("from", "to", "input", "value") if past[name] is not None}
            return kept | ({"gas": past["gas"]} if "gas" in past and self.random.random() < 0.5 else {})
        size = self.random.choice((0, 1, 4, 32, 36, 64, 96, 128, 213))
        call: dict[str, Any] = {"to": self.account(), "input": f"0x{self.random.randbytes(size).hex()}"}
        if self.random.random() < 0.7:
            call["from"] = self.account()
        if self.random.random() < 0.3:
            call["value"] = hex(self.random.choice((0, 1, 10**18, 10**30)))
        if self.random.random() < 0.3:
            call["gas"] = hex(self.random.choice((0, 21_000, 30_000, 60_000, 100_000, 10**7)))
        if self.random.random() < 0.2:
            call["gasPrice"] = hex(self.random.choice((0, 1, 10**9, 2 * 10**10)))
        elif self.random.random() < 0.2:
            call |= {"maxFeePerGas": hex(10**11), "maxPriorityFeePerGas": hex(self.random.choice((0, 1)))}
        if self.random.random() < 0.1:
            call["accessList"] = [{"address": self.account(), "storageKeys": [self.long_slot()]}]
        if self.random.random() < 0.1:
            del call["to"]
        return call

    def state_overrides(self) -> dict[str, Any]:
        override = self.random.choice(
            ({"balance": hex(10**24)}, {"nonce": "0x7"}, {"code": "0x60016000526020600060206000f3"}, {})
        )
        return {self.account(): override}

    def call_params(self) -> Params:
        """Return the parameters of a call, at times with a state override."""
        params = [self.call(), self.block()]
        return [*params, self.state_overrides()] if self.random.random() < 0.2 else params

    def log_filter(self) -> dict[str, Any]:
        chance, found = self.random.random, dict[str, Any]()
        if chance() < 0.15:
            found["blockHash"] = self.hash()
        else:
            first = self.number()
            found |= {"fromBlock": hex(first), "toBlock": hex(self.random.randint(first, self.head))}
        if chance() < 0.5:
            found["address"] = self.account() if chance() < 0.5 else [self.account(), self.account()]
        if chance() < 0.5:
            places: tuple[Any, ...] = (
                None,
                self.random.choice(self.topics),
                self.random.choices(self.topics, k=2),
                [],
            )
            found["topics"] = self.random.choices(places, k=self.random.randint(0, 4))
        return found

    def simulation(self) -> Params:
        payload: dict[str, Any] = {"blockStateCalls": [{"calls": [self.call()]} for _ in range(2)]}
        payload |= {name: self.random.random() < 0.3 for name in ("validation", "traceTransfers")}
        return [payload, self.plain_block()]

    def percentiles(self) -> Any:
        return sorted(self.random.choices(range(101), k=self.random.randint(0, 4)))

    def tracer(self) -> dict[str, Any]:
        return self.random.choice(TRACERS)


def damaged(params: Params, chance: random.Random) -> Params:
    """Return parameters with one of them replaced, dropped or added."""
    changed = list(params)
    match chance.randrange(3):
        case 0 if changed:
            changed[chance.randrange(len(changed))] = chance.choice(NONSENSE)
        case 1 if changed:
            changed.pop()
        case _:
            changed.append(chance.choice(NONSENSE))
    return changed


def full(material: ChainMaterial) -> bool:
    """Return True, half of the time, to ask for a block with whole transactions."""
    return material.random.random() < 0.5


METHODS: dict[str, Callable[[ChainMaterial], Params]] = {
    "eth_chainId": lambda m: [],
    "net_version": lambda m: [],
    "web3_sha3": lambda m: [f"0x{m.random.randbytes(m.random.randrange(200)).hex()}"],
    "eth_getBlockByNumber": lambda m: [m.plain_block(), full(m)],
    "eth_getBlockByHash": lambda m: [m.hash(), full(m)],
    "eth_getHeaderByNumber": lambda m: [m.plain_block()],
    "eth_getHeaderByHash": lambda m: [m.hash()],
    "eth_getRawTransactionByHash": lambda m: [m.transaction()["hash"]],
    "eth_getRawTransactionByBlockHashAndIndex": lambda m: [m.hash(), m.index()],
    "eth_getRawTransactionByBlockNumberAndIndex": lambda m: [m.plain_block(), m.index()],
    "eth_getBlockTransactionCountByNumber": lambda m: [m.plain_block()],
    "eth_getBlockTransactionCountByHash": lambda m: [m.hash()],
    "eth_getUncleCountByBlockNumber": lambda m: [m.plain_block()],
    "eth_getUncleCountByBlockHash": lambda m: [m.hash()],
    "eth_getUncleByBlockNumberAndIndex": lambda m: [m.plain_block(), m.index()],
    "eth_getUncleByBlockHashAndIndex": lambda m: [m.hash(), m.index()],
    "eth_getTransactionByHash": lambda m: [m.transaction()["hash"]],
    "eth_getTransactionByBlockNumberAndIndex": lambda m: [m.plain_block(), m.index()],
    "eth_getTransactionByBlockHashAndIndex": lambda m: [m.hash(), m.index()],
    "eth_getTransactionReceipt": lambda m: [m.transaction()["hash"]],
    "eth_getBlockReceipts": lambda m: [m.block()],
    "eth_getLogs": lambda m: [m.log_filter()],
    "eth_getBalance": lambda m: [m.account(), m.block()],
    "eth_getTransactionCount": lambda m: [m.account(), m.block()],
    "eth_getCode": lambda m: [m.account(), m.block()],
    "eth_getStorageAt": lambda m: [m.account(), m.slot(), m.block()],
    "eth_getProof": lambda m: [m.account(), [m.long_slot()], m.block()],
    "eth_call": ChainMaterial.call_params,
    "eth_estimateGas": ChainMaterial.call_params,
    "eth_createAccessList": lambda m: [m.call(), m.block()],
    "eth_simulateV1": ChainMaterial.simulation,
    "eth_feeHistory": lambda m: [hex(m.random.randint(0, 20)), m.plain_block(), m.percentiles()],
    "debug_getRawHeader": lambda m: [m.block()],
    "debug_getRawBlock": lambda m: [m.block()],
    "debug_getRawReceipts": lambda m: [m.block()],
    "debug_getRawTransaction": lambda m: [m.transaction()["hash"]],
    "debug_executionWitness": lambda m: [m.block()],
    "debug_storageRangeAt": lambda m: [m.block(), m.random.choice((0, 0, 1, -1)), m.account(), "0x", 3],
    "debug_getModifiedAccountsByNumber": lambda m: [m.number(), m.random.choice((None, m.number()))],
    "debug_getModifiedAccountsByHash": lambda m: [m.hash(), m.random.choice((None, m.hash()))],
    "debug_traceTransaction": lambda m: [m.transaction()["hash"], m.tracer()],
    "debug_traceCall": lambda m: [m.call(), m.plain_block(), m.tracer()],
    "debug_traceBlockByNumber": lambda m: [m.plain_block(), m.tracer()],
    "debug_traceBlockByHash": lambda m: [m.hash(), m.tracer()],
}
