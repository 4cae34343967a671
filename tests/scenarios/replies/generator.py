"""Conversations drawn from a seed: valid calls of all methods, wrong ones, batches, bursts, broken frames."""

import json
import random
from collections.abc import Iterator
from typing import Any, Literal, TypeAlias

import msgspec

from tests.server.websocket.test_frames import masked
from tests.vector_files import require_vectors
from wsnode.verify.cases import read_cases

SEED = 20_000
NETWORKS = ("plain", "plain", "plain", "behind", "keyed")
"""The hosts of the server, the usual one more often."""
MESSAGES = 20_000
"""Those of all conversations together, about."""
CONVERSATIONS = 1_200

Params: TypeAlias = dict[str, list[Any]]

ACCOUNTS = [
    *("0x7435ed30a8b4aeb0877cef0c6e8cffe834eb865f", "0x0c2c51a0990aee1d73c1228de158688341557508"),
    *("0x7dcd17433742f4c0ca53122ab541d0ba67fc27df", "0x0ee3ab1371c93e7c0c281cc0c2107cdebc8b1930"),
    *("0x0000000000000000000000000000000000000001", "0x1313131313131313131313131313131313131313"),
]
HASHES = [
    *("0x5bc704d4eb4ce7fe319705d2f888516961426a177f2799c9f934b5df7466dd33",),
    *("0xd48ebacfb769b85602310e2e0cf322e19f8cce25ac69cfd52f2d8622e3bbc3c9", "0x" + "13" * 32),
]
BLOCK_HASHES = [
    *("0xb4874cd66b2070da5d1905b5937e97c82d1891747739b3ebb0f7f6ffc9ad518a",),
    *("0x98f797a6af91ea770ab3a99d89c17a3a46d14c76db6bb711b18156a3493d2c94", "0x" + "27" * 32),
]
NUMBERS = ["0x0", "0x1", "0x2", "0x4", "0x1b", "0x35", "0x36", "0x38", "0x999"]
TAGS = ["latest", "earliest", "safe", "finalized"]
CALLS = [
    {"to": ACCOUNTS[2], "input": "0x"},
    {"to": ACCOUNTS[3], "input": "0x01", "gas": "0x186a0"},
    {"from": ACCOUNTS[1], "to": ACCOUNTS[0], "value": "0x1"},
    {"from": ACCOUNTS[0], "to": ACCOUNTS[5], "value": "0xffffffffffffffffffffffffff"},
    {"input": "0x600160005260206000f3", "gas": "0x30d40"},
    {"input": "0x5b600056", "gas": "0x2dc6c0"},
    {"to": ACCOUNTS[4], "input": "0x456e9aea5e197a1f1af7a3e85a3212fa4049a3ba34c2289b4c860fc0b0c64ef3"},
]
FILTERS: list[dict[str, Any]] = [
    {},
    {"fromBlock": "0x1", "toBlock": "0x4"},
    {"fromBlock": "0x0", "toBlock": "latest", "address": ACCOUNTS[2]},
    {"blockHash": BLOCK_HASHES[1]},
    {"fromBlock": "0x3", "toBlock": "0x6", "topics": [None, [HASHES[2]]]},
    {"fromBlock": "0x9", "toBlock": "0x3"},
    {"fromBlock": "0x1", "toBlock": "0x39"},
]
KINDS: dict[str, list[Any]] = {
    "account": [*ACCOUNTS, ACCOUNTS[0].upper().replace("X", "x"), "0x12"],
    "block": [*NUMBERS, *TAGS, *TAGS, *BLOCK_HASHES, {"blockHash": BLOCK_HASHES[0]}, {"blockNumber": "0x2"}],
    "number": [*NUMBERS, *TAGS],
    "plain": [0, 1, 4, 27, 53, "0x4", 60],
    "hash": HASHES,
    "block_hash": BLOCK_HASHES,
    "index": ["0x0", "0x1", "0x7"],
    "flag": [True, False],
    "slot": ["0x0", "0x1", "0x42ff", "0x" + "0" * 63 + "1"],
    "slots": [[], ["0x0"], ["0x0", "0x42ff"]],
    "slots_by_account": [{ACCOUNTS[3]: ["0x42ff", "0x0"]}, {}, {ACCOUNTS[2]: ["0x1"]}],
    "call": CALLS,
    "calls": [[[CALLS[0], ["trace"]], [CALLS[1], ["stateDiff"]]], []],
    "overrides": [{}, {ACCOUNTS[5]: {"balance": "0x64", "code": "0x600160005260206000f3"}}],
    "filter": FILTERS,
    "page": [{**each, "limit": 3} for each in FILTERS],
    "count": ["0x1", "0x5", 4],
    "percentiles": [[], [25, 75], [99, 1]],
    "tracer": [{}, {"tracer": "callTracer"}, {"tracer": "prestateTracer"}, {"disableStorage": True}],
    "types": [["trace"], ["trace", "stateDiff"], ["vmTrace"]],
    "path": [["0x0"], []],
    "trace_filter": [{"fromBlock": "0x1", "toBlock": "0x5", "count": 3}, {"fromAddress": [ACCOUNTS[0]]}],
    "data": ["0x", "0x68656c6c6f", "0xzz"],
    "subscription": ["newHeads", "logs", "newPendingTransactions", "syncing", "nothing"],
    "identity": ["0x" + "0" * 32, "0x1", "1"],
    "seen": ["1", "0x4", "54:" + BLOCK_HASHES[0], "200", "x"],
    "kind": [{}, {"address": ACCOUNTS[2]}, {"cursors": True}],
}
"""Arguments by their kinds."""
METHODS = """
debug_executionWitness number
debug_getModifiedAccountsByHash block_hash block_hash
debug_getModifiedAccountsByNumber plain plain
debug_getRawBlock block
debug_getRawHeader block
debug_getRawReceipts block
debug_getRawTransaction hash
debug_storageRangeAt block plain account data plain
debug_traceBlockByHash block_hash tracer
debug_traceBlockByNumber number tracer
debug_traceCall call block tracer
debug_traceTransaction hash tracer
erigon_getHeaderByNumber number
eth_accounts
eth_baseFee
eth_blobBaseFee
eth_blockNumber
eth_call call block
eth_call call block overrides
eth_chainId
eth_createAccessList call block
eth_estimateGas call
eth_estimateGas call block overrides
eth_feeHistory count number percentiles
eth_gasPrice
eth_getAccount account block
eth_getAccountInfo account block
eth_getBalance account block
eth_getBlockByHash block_hash flag
eth_getBlockByNumber number flag
eth_getBlockReceipts block
eth_getBlockTransactionCountByHash block_hash
eth_getBlockTransactionCountByNumber number
eth_getCode account block
eth_getFilterChanges identity
eth_getFilterLogs identity
eth_getHeaderByHash block_hash
eth_getHeaderByNumber number
eth_getLogs filter
eth_getProof account slots block
eth_getRawTransactionByBlockHashAndIndex block_hash index
eth_getRawTransactionByHash hash
eth_getStorageAt account slot block
eth_getStorageValues slots_by_account block
eth_getTransactionByBlockHashAndIndex block_hash index
eth_getTransactionByBlockNumberAndIndex number index
eth_getTransactionByHash hash
eth_getTransactionBySenderAndNonce account count
eth_getTransactionCount account block
eth_getTransactionReceipt hash
eth_getUncleByBlockHashAndIndex block_hash index
eth_getUncleCountByBlockNumber number
eth_maxPriorityFeePerGas
eth_newBlockFilter
eth_newFilter filter
eth_sendRawTransaction data
eth_sendRawTransactionSync data
eth_subscribe subscription
eth_subscribe subscription kind
eth_syncing
eth_uninstallFilter identity
eth_unsubscribe identity
net_listening
net_peerCount
net_version
ots_getApiLevel
ots_getBlockDetails number
ots_getBlockTransactions plain count count
ots_getContractCreator account
ots_getInternalOperations hash
ots_getTransactionError hash
ots_hasCode account number
ots_searchTransactionsAfter account plain count
ots_searchTransactionsBefore account plain count
ots_traceTransaction hash
rpc_modules
trace_block block
trace_call call types block
trace_callMany calls block
trace_filter trace_filter
trace_get hash path
trace_rawTransaction data types
trace_replayBlockTransactions number types
trace_replayTransaction hash types
trace_transaction hash
txpool_content
txpool_contentFrom account
txpool_status
web3_sha3 data
wsnode_getLogsPage page
wsnode_minBlock seen
wsnode_nothing data
alt_blockNumber
"""
"""A row for each form of a method's parameters."""
ROWS = [line.split() for line in METHODS.strip().splitlines()]
CHEAP = ("eth_blockNumber", "eth_chainId", "eth_gasPrice", "eth_getBalance", "eth_getStorageAt", "eth_call")
"""Methods of which bursts are made."""
CHEAP_ROWS = [row for row in ROWS if row[0] in CHEAP]
GARBAGE: list[Any] = [
    None,
    4,
    True,
    "",
    "0x",
    "0X1",
    "0xg",
    "0x" + "0" * 65,
    [],
    {},
    "pendin",
    -1,
    1.5,
    "latest",
]
IDENTITIES = [1, 2, 0, -7, "a", "", "\u00e9", 1.5, None, 2**70, [], {"a": 1}, True]
MESSAGE_TEXTS = (
    *(b"", b" ", b"null", b"5", b"{}", b"[]", b"[ ]", b"[1]", b"[[]]", b"[{}]", b"{", b"[", b'"', b"\xff"),
    *(b'{"jsonrpc":"1.0","id":1,"method":"eth_chainId"}', b'{"jsonrpc":"2.0","id":1}'),
    *(b'{"jsonrpc":"2.0","id":1,"method":5}', b'{"jsonrpc":"2.0","id":"\\ud800","method":"eth_chainId"}'),
    *(b'{"id":1,"method":"eth_chainId","jsonrpc":"2.0","more":[1,{"a":null}]}', b"[" * 2000 + b"]" * 2000),
    b'{"jsonrpc":"2.0","id":1,"id":2,"method":"eth_chainId"}',
    b' { "jsonrpc" : "2.0" , "id" : 1 , "method" : "eth_chainId" , "params" : [ ] } ',
    b'{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":{}}',
    b'{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":null}',
    b'{"jsonrpc":"2.0","id":1,"method":"","params":[]}',
)
"""Messages that are no requests, or requests in unusual forms."""
BROKEN_FRAMES = (
    *(
        masked(0x81, b"\xff\xfe"),
        masked(0x81, b'{"id":"\xc3"}'),
        masked(0x83, b""),
        masked(0xC1, b"x"),
        masked(0x09, b"x"),
        b"\x81\x01x",
    ),
    *(masked(0x88, b"\x03\xe8bye"), masked(0x88, b"\x03"), masked(0x88, b"\x03\xed"), masked(0x80, b"x")),
    *(masked(0x88, b"\x0f\xa0"), masked(0x01, b"{") + masked(0x81, b"{"), masked(0x89, b"p" * 126)),
    masked(0x81, b"[" + b" " * 400_000),
)
"""Frames that end a connection."""


class Conversation(msgspec.Struct, frozen=True):
    """A client's messages, in the bursts that are sent at once; each request over HTTP is a burst."""

    network: str
    transport: Literal["WebSocket", "HTTP"]
    bursts: list[list[bytes]]
    compressed: bool = False
    """Whether the client takes compressed replies."""
    min_block: str | None = None
    """What the client has seen, over HTTP."""
    end: bytes = b""
    """Frames that are sent at last, over WebSocket."""

    @property
    def messages(self) -> int:
        """Return how many messages there are."""
        return sum(map(len, self.bursts))


class Generator:
    """Draws conversations: each by its number, so that a part of them is the same as in the whole."""

    def __init__(self) -> None:
        folder = require_vectors("execution-apis") / "tests"
        requests = [json.loads(each.request) for case in read_cases(folder) for each in case.exchanges]
        self._known = [(each["method"], each.get("params", [])) for each in requests]

    def conversations(self, count: int) -> Iterator[Conversation]:
        """Yield the first ones."""
        for number in range(count):
            yield self._conversation(random.Random(f"{SEED}-{number}"))

    def _conversation(self, chance: random.Random) -> Conversation:
        network, compressed = chance.choice(NETWORKS), chance.random() < 0.15
        if chance.random() < 0.25:
            texts = [[self._text(chance, many=4)] for _ in range(chance.randrange(1, 9))]
            seen = chance.choice(KINDS["seen"]) if chance.random() < 0.1 else None
            return Conversation(network, "HTTP", texts, compressed, min_block=seen)
        bursts, end = [self._burst(chance) for _ in range(chance.randrange(1, 6))], b""
        if chance.random() < 0.2:
            end = chance.choice(BROKEN_FRAMES)
        return Conversation(network, "WebSocket", bursts, compressed, end=end)

    def _burst(self, chance: random.Random) -> list[bytes]:
        if chance.random() < 0.3:
            row = chance.choice(CHEAP_ROWS)
            params = [chance.choice(KINDS[kind]) for kind in row[1:]]
            return [_encoded(request(row[0], params, place)) for place in range(chance.randrange(2, 24))]
        texts = [self._text(chance, many=6) for _ in range(chance.randrange(1, 9))]
        # Another one ends the connection, and with it those calls that have not ended by then.
        return [text for text in texts if _is_text(text)]

    def _text(self, chance: random.Random, *, many: int) -> bytes:
        kind = chance.random()
        if kind < 0.06:
            return chance.choice(MESSAGE_TEXTS)
        if kind < 0.09:
            return _cut(_encoded(self._request(chance)), chance)
        if kind < 0.25:
            return self._batch(chance, many)
        if kind < 0.255:
            return _encoded(request("web3_sha3", ["0x" + "61" * chance.choice([5_000, 140_000])], 1))
        return _encoded(self._request(chance))

    def _batch(self, chance: random.Random, many: int) -> bytes:
        count = chance.randrange(1, many) if chance.random() < 0.95 else chance.randrange(15, 30)
        items = [_encoded(self._request(chance)) for _ in range(count)]
        if chance.random() < 0.3:
            items.insert(chance.randrange(len(items) + 1), chance.choice(MESSAGE_TEXTS))
        if chance.random() < 0.02:
            items.append(_encoded(request("web3_sha3", ["0x" + "61" * 140_000], 1)))
        return b"[" + b",".join(items) + b"]"

    def _request(self, chance: random.Random) -> dict[str, Any]:
        if chance.random() < 0.15:
            method, params = chance.choice(self._known)
        else:
            method, *kinds = chance.choice(ROWS)
            params = [chance.choice(KINDS[kind]) for kind in kinds]
        if chance.random() < 0.15:
            params = _changed(params, chance)
        made = request(method, params, chance.choice(IDENTITIES) if chance.random() < 0.3 else 1)
        if chance.random() < 0.05:
            del made["id"]
        if chance.random() < 0.02:
            del made["params"]
        return made


def request(method: str, params: Any, identity: Any) -> dict[str, Any]:
    """Return a request."""
    return {"jsonrpc": "2.0", "id": identity, "method": method, "params": params}


def _is_text(message: bytes) -> bool:
    try:
        message.decode()
    except UnicodeDecodeError:
        return False
    return True


def _encoded(made: Any) -> bytes:
    return json.dumps(made, separators=(",", ":"), ensure_ascii=False).encode()


def _changed(params: Any, chance: random.Random) -> Any:
    """Return parameters of which one is missing, too much, or wrong."""
    if not isinstance(params, list):
        return params
    changed = list(params)
    match chance.randrange(3):
        case 0:
            changed.append(chance.choice(GARBAGE))
        case 1 if changed:
            changed.pop()
        case _ if changed:
            changed[chance.randrange(len(changed))] = chance.choice(GARBAGE)
    return changed


def _cut(text: bytes, chance: random.Random) -> bytes:
    """Return a text without some of its bytes, or with others."""
    place = chance.randrange(len(text))
    if chance.random() < 0.5:
        return text[:place] + text[place + chance.randrange(1, 4) :]
    return text[:place] + bytes([chance.choice(b'{}[]",:\\ 0\xc3')]) + text[place + 1 :]
