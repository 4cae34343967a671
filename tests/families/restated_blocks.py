"""An upstream whose blocks are captured ones of a public chain, over the state of a development chain.

A block's state root is that of the development chain's head, and blocks have numbers in a row, so that its
hash is another one and proofs hold. Transactions, receipts and their roots are as captured.
"""

import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection

from tests.ethereum.development.playground import ETHER, GENESIS_TIME, Playground, playground
from tests.load.answering import answering
from tests.vector_files import require_vectors
from wsnode.demo.accounts import ACCOUNTS
from wsnode.demo.genesis import CHAIN_ID, development_genesis
from wsnode.demo.run import begin
from wsnode.ethereum.codec.blocks import encode_json_block
from wsnode.ethereum.codec.rlp import block_hash
from wsnode.ethereum.networks.table import find_network
from wsnode.ethereum.primitives.values import hexadecimal

NO_ACCOUNTS: Mapping[str, Any] = MappingProxyType({})
COUNTER: Final = "0x" + "c0de" * 10
COUNTS: Final = "0x5f54600101805f555f5260205ff3"
"""Code that adds one to slot 0, and returns the sum."""
WITH_CODE: Final = {COUNTER: {"balance": "0x7", "code": COUNTS, "storage": {"0x00": "0x29"}}}
LOGGER: Final = "0x" + "1099" * 10
LOGS: Final = "0x365f5f37365fa0" + "00"
"""Code that logs its input."""
SEALED = {"extraData": "0x" + "11" * 97, "difficulty": "0x2", "uncles": []}
LATER = {
    "blobGasUsed": "0x0",
    "excessBlobGas": "0x0",
    "parentBeaconBlockRoot": "0x" + "00" * 32,
    "requestsHash": "0xe3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
}
DEPOSITS_ALONE: Final = (36, 42)
"""Blocks of op-geth's chain without a signature, which would name its id: the first of Isthmus and Jovian."""
MEMBERS: Final[Mapping[str, dict[str, Any]]] = {
    "gnosis": {"baseFeePerGas": "0x3b9aca00", **LATER, "blobGasUsed": "0x40000", "excessBlobGas": "0x100000"},
    "bsc": {**SEALED, "baseFeePerGas": "0x0", **LATER},
    "linea": {**SEALED, "baseFeePerGas": "0x7", "gasLimit": "0x77359400"},
}
"""Members of a header that are a chain's own."""
CAPTURED: Final = {"polygon": "chains/polygon/50000000", "arbitrum": "chains/arbitrum/150000000"}
OP_GETH = "chains/op-geth-dev"
STATE = {"eth_getProof": 2, "eth_getCode": 1, "eth_getStorageAt": 2, "eth_getBalance": 1}
"""Methods that the development chain answers, and the place of the block among their parameters."""


class RestatedNode:
    """Blocks and the state under the last one of them."""

    def __init__(
        self,
        state: Playground,
        chain_id: int,
        blocks: Sequence[dict[str, Any]],
        receipts: Sequence[list[dict[str, Any]]],
    ) -> None:
        self.state = state
        self.chain_id = chain_id
        self.blocks: list[dict[str, Any]] = []
        self.receipts: list[list[dict[str, Any]]] = []
        root = state.block()["stateRoot"]
        first = int(blocks[-1]["number"], 16) + 1 - len(blocks)
        for number, (block, each) in enumerate(zip(blocks, receipts, strict=True), first):
            members = {"stateRoot": root, "number": hex(number)}
            members |= {"parentHash": self.blocks[-1]["hash"]} if self.blocks else {}
            self.blocks.append(restated(block, **members))
            self.receipts.append([placed(receipt, self.blocks[-1]) for receipt in each])

    @property
    def head(self) -> dict[str, Any]:
        """Return the last block."""
        return self.blocks[-1]

    def raw(self, method: str, params: list[Any]) -> dict[str, Any]:
        """Return a reply, be it a result or an error."""
        if method in STATE:
            place = STATE[method]
            return self.state.raw(method, [*params[:place], "latest", *params[place + 1 :]])
        try:
            return {"result": self._result(method, params)}
        except NotImplementedError:
            return {"error": {"code": -32601, "message": f"the method {method} does not exist"}}

    def _result(self, method: str, params: list[Any]) -> Any:
        if method == "eth_chainId":
            return hex(self.chain_id)
        if method == "eth_subscribe" and params[0] == "newHeads":
            return "0x1"
        if method in ("eth_getTransactionByHash", "eth_getTransactionReceipt"):
            return self._of_transaction(method, params[0])
        if method not in ("eth_getBlockByNumber", "eth_getBlockByHash", "eth_getBlockReceipts"):
            raise NotImplementedError
        place = self._place(params[0])
        found: Any = self.receipts if method == "eth_getBlockReceipts" else self.blocks
        return None if place is None else found[place]

    def _of_transaction(self, method: str, transaction_hash: str) -> Any:
        if method == "eth_getTransactionReceipt":
            found = (receipt for receipts in self.receipts for receipt in receipts)
            return next((each for each in found if each["transactionHash"] == transaction_hash), None)
        listed = (transaction for block in self.blocks for transaction in block["transactions"])
        return next((each for each in listed if each["hash"] == transaction_hash), None)

    def _place(self, named: Any) -> int | None:
        wanted = named.get("blockHash", named.get("blockNumber")) if isinstance(named, dict) else named
        tags = {"latest": len(self.blocks) - 1, "safe": 0, "finalized": 0}
        by_hash = {block["hash"]: place for place, block in enumerate(self.blocks)}
        by_number = {block["number"]: place for place, block in enumerate(self.blocks)}
        return (tags | by_hash | by_number).get(wanted)


def restated(block: dict[str, Any], **members: str) -> dict[str, Any]:
    """Return a block with other members of its header, under the hash that it then has."""
    changed = block | members
    found = block_hash(encode_json_block(json.dumps(changed).encode(), []))
    assert found is not None
    changed["hash"] = hexadecimal(found)
    return changed | {"transactions": [placed(each, changed) for each in block["transactions"]]}


def placed(value: dict[str, Any], block: dict[str, Any]) -> dict[str, Any]:
    """Return a transaction or a receipt with the hash and the number of its block."""
    names = {"blockHash": block["hash"], "blockNumber": block["number"]}
    logs = {"logs": [log | names for log in value["logs"]]} if "logs" in value else {}
    return value | names | logs


@contextmanager
def state_of(folder: Path, accounts: dict[str, Any], chain_id: int = CHAIN_ID) -> Iterator[Playground]:
    """Open a development chain with the usual accounts and some more."""
    addresses = [account.address for account in ACCOUNTS]
    genesis = development_genesis(
        addresses, 10_000 * ETHER, GENESIS_TIME, accounts=accounts, chain_id=chain_id
    )
    begin(folder, genesis)
    with playground(folder) as chain:
        yield chain


@contextmanager
def op_geth(
    folder: Path, numbers: Sequence[int], chain_id: int = 901, accounts: Mapping[str, Any] = NO_ACCOUNTS
) -> Iterator[RestatedNode]:
    """Open a node with blocks of op-geth's chain, and the accounts of its genesis and some more."""
    vectors = require_vectors(OP_GETH)
    alloc = json.loads((vectors / "genesis.json").read_bytes())["alloc"]
    own = {f"0x{name.removeprefix('0x')}": account for name, account in alloc.items()}
    with state_of(folder, own | dict(accounts)) as state:
        blocks, receipts = (
            [json.loads((vectors / str(number) / f"{name}.json").read_bytes()) for number in numbers]
            for name in ("block", "receipts")
        )
        yield RestatedNode(state, chain_id, blocks, receipts)


@contextmanager
def made_blocks(name: str, folder: Path) -> Iterator[RestatedNode]:
    """Open a node of a chain with two blocks without transactions, on a state with a counter."""
    network = find_network(name)
    with state_of(folder, WITH_CODE) as state:
        own = state("eth_getBlockByNumber", "latest", True)
        first = own | {"number": "0x1000", "timestamp": hex(1_790_000_000)} | MEMBERS[name]
        second = first | {"number": "0x1001", "timestamp": hex(1_790_000_005)}
        yield RestatedNode(state, network.chain_id, [restated(first), restated(second)], [[], []])


@contextmanager
def logged_block(name: str, folder: Path) -> Iterator[RestatedNode]:
    """Open a node of a chain with a block of three transactions, each with a log."""
    chain_id = find_network(name).chain_id
    with state_of(folder, {LOGGER: {"balance": "0x0", "code": LOGS}}, chain_id) as state:
        state("evm_setAutomine", False)
        for data in ("0x", "0x1234", "0x" + "ab" * 100):
            state.send(to=LOGGER, value=None, data=data, gas="0x20000")
        state("evm_mine")
        own = state("eth_getBlockByNumber", "latest", True)
        place = {"number": hex(20_000_000), "timestamp": hex(1_790_000_000)}
        # The transactions have no blobs.
        without_blobs = {"blobGasUsed": "0x0"} if "blobGasUsed" in MEMBERS[name] else {}
        block = own | place | MEMBERS[name] | without_blobs
        yield RestatedNode(state, chain_id, [block], [state("eth_getBlockReceipts", "latest")])


@contextmanager
def captured_block(name: str, folder: Path) -> Iterator[RestatedNode]:
    """Open a node with a captured block of a chain, on a state with a counter."""
    vectors = require_vectors(CAPTURED[name])
    with state_of(folder, WITH_CODE) as state:
        block, receipts = (
            json.loads(read_vector(vectors / f"{each}.json")) for each in ("block", "receipts")
        )
        yield RestatedNode(state, find_network(name).chain_id, [block], [receipts])


def read_vector(path: Path) -> bytes:
    """Return a file of the vectors, which may be compressed."""
    return path.read_bytes() if path.exists() else gzip.decompress(Path(f"{path}.gz").read_bytes())


@contextmanager
def upstream(name: str, folder: Path) -> Iterator[RestatedNode]:
    """Open a node of a chain of the table."""
    if name == "op":
        opened = op_geth(folder, DEPOSITS_ALONE, 10, WITH_CODE)
    else:
        opened = captured_block(name, folder) if name in CAPTURED else made_blocks(name, folder)
    with opened as node:
        yield node


@contextmanager
def serving(node: RestatedNode) -> Iterator[str]:
    """Answer over WebSocket on a free port, and give the URL."""

    def converse(connection: ServerConnection) -> None:
        with suppress(ConnectionClosed):
            for message in connection:
                connection.send(json.dumps(replies(node, json.loads(message))))

    with answering(converse) as url:
        yield url


def replies(node: RestatedNode, asked: Any) -> Any:
    """Return what is answered to a request, or to a batch of them."""
    if isinstance(asked, list):
        return [replies(node, each) for each in asked]
    reply = node.raw(asked["method"], asked.get("params", []))
    return {"jsonrpc": "2.0", "id": asked["id"]} | reply
