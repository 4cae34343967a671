"""What geth answers on chains that both have, and what it makes of our witnesses."""

import gzip
import shutil
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from tests.conftest import import_blocks
from tests.memory_transport import Ask, asking
from tests.peers.geth import PATIENT, Geth, started_geth
from tests.vector_files import require_vectors
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.blocks import keccak256
from wsnode.ethereum.codec.rlp import Item, encode, encoded_items
from wsnode.ethereum.rpc.registry import build_registry
from wsnode.jsonrpc.dispatcher import Dispatcher

pytestmark = pytest.mark.slow

NO_REQUESTS = "0xe3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
UNKNOWN = "0x" + "11" * 32


class Pair(msgspec.Struct, frozen=True):
    """Both nodes and the number of their head."""

    ask: Ask
    geth: Geth
    head: int

    def both(self, method: str, *params: Any) -> Any:
        """Return the reply, which must be the same."""
        ours, theirs = self.ask(method, *params), self.geth.ask(method, *params)
        assert ours == {name: theirs[name] for name in theirs if name in {"result", "error"}}, (
            method,
            params,
        )
        return ours.get("result")


@pytest.fixture(scope="module", params=["execution-apis", "bench/small"])
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    folder = tmp_path_factory.mktemp("pair")
    vectors, blocks = require_vectors(request.param), folder / "chain.rlp"
    if (packed := vectors / "chain.rlp.gz").exists():
        blocks.write_bytes(gzip.decompress(packed.read_bytes()))
    else:
        shutil.copy(vectors / "chain.rlp", blocks)
    genesis = vectors / "genesis.json"
    with (
        started_geth(folder, genesis, blocks) as geth,
        Chain.open(folder / "ours", genesis.read_bytes(), writer=True, durable=False) as chain,
    ):
        import_blocks(chain, blocks)
        ask = asking(
            Dispatcher(build_registry(chain, limits=PATIENT, with_test_methods=True), chain.snapshot)
        )
        yield Pair(ask, geth, int(ask("eth_blockNumber")["result"], 16))


def test_headers_and_raw_transactions_are_geths(pair: Pair) -> None:
    for number in [*range(pair.head + 1), 1000]:
        header = pair.both("eth_getHeaderByNumber", hex(number))
        pair.both("eth_getRawTransactionByBlockNumberAndIndex", hex(number), "0x0")
        if header is None:
            continue
        pair.both("eth_getHeaderByHash", header["hash"])
        block = pair.both("eth_getBlockByHash", header["hash"], False)
        for index, transaction in enumerate(block["transactions"]):
            pair.both("eth_getRawTransactionByHash", transaction)
            pair.both("eth_getRawTransactionByBlockHashAndIndex", header["hash"], hex(index))
    for method in ("eth_getHeaderByHash", "eth_getRawTransactionByHash"):
        pair.both(method, UNKNOWN)


def test_modified_accounts_are_geths(pair: Pair) -> None:
    for number in range(1, pair.head + 1):
        pair.both("debug_getModifiedAccountsByNumber", number)
        pair.both("debug_getModifiedAccountsByNumber", number // 2, number)
    for params in ([0], [9, 9], [9, 8], [1000], [1, 1000], ["0x1"]):
        pair.both("debug_getModifiedAccountsByNumber", *params)


@pytest.mark.parametrize("options", [{}, {"tracer": "callTracer"}, {"tracer": "prestateTracer"}])
def test_blocks_that_are_sent_are_traced_as_by_geth(pair: Pair, options: dict[str, Any]) -> None:
    for number in range(0, pair.head + 1, 4):
        pair.both("debug_traceBlock", pair.ask("debug_getRawBlock", hex(number))["result"], options)


def test_slots_are_geths_where_it_can_see_them(pair: Pair) -> None:
    accounts = pair.ask("debug_getModifiedAccountsByNumber", 0, pair.head)["result"]
    contracts = [each for each in accounts if pair.ask("eth_getCode", each, "latest")["result"] != "0x"]
    compared = 0
    for number in range(1, pair.head + 1, 7):
        changed = pair.ask("debug_getModifiedAccountsByNumber", number)["result"]
        # geth looks for the storage before the block among the nodes after it.
        for address in set(contracts) - set(changed):
            params = [hex(number), 0, address, "0x40", 3]
            ours = pair.ask("debug_storageRangeAt", *params)["result"]
            theirs = pair.geth.ask("debug_storageRangeAt", *params)["result"]
            for slots in (ours["storage"], theirs["storage"]):
                for slot in (slots or {}).values():
                    # Which geth does not always have.
                    compared += slot.pop("key") is not None
            assert ours == theirs
    assert compared


def witnesses(pair: Pair) -> Iterator[tuple[int, dict[str, Any], dict[str, Any]]]:
    """Yield each block since Byzantium with its witnesses, ours and geth's."""
    for number in range(1, pair.head + 1):
        theirs = pair.geth.ask("debug_executionWitness", hex(number))
        if "result" in theirs:
            yield number, pair.ask("debug_executionWitness", hex(number))["result"], theirs["result"]


def test_witnesses_are_geths_but_for_code_that_the_block_makes(pair: Pair) -> None:
    compared = 0
    for number, ours, theirs in witnesses(pair):
        for member in ("headers", "state", "keys"):
            assert ours[member] == theirs[member], (number, member)
        made = set(theirs["codes"]) - set(ours["codes"])
        assert set(ours["codes"]) <= set(theirs["codes"])
        for code in made:
            # No account had it before this block.
            assert not had_code(pair, number, code)
        compared += 1
    assert compared >= 40


def had_code(pair: Pair, number: int, code: str) -> bool:
    """Return whether an account that the block changes had this code before it."""
    changed = pair.ask("debug_getModifiedAccountsByNumber", number)["result"]
    before = hex(number - 1)
    return any(pair.ask("eth_getCode", address, before)["result"] == code for address in changed)


def test_geth_executes_blocks_on_our_witnesses_alone(pair: Pair) -> None:
    executed = 0
    for number, witness, _ in witnesses(pair):
        block = pair.ask("eth_getBlockByNumber", hex(number), True)["result"]
        if block.get("requestsHash") != NO_REQUESTS:
            continue
        status = execute(pair, block, witness)
        assert status["status"] == "VALID", (number, status)
        assert (status["stateRoot"], status["receiptsRoot"]) == (block["stateRoot"], block["receiptsRoot"])
        executed += 1
        if len(witness["state"]) > 4:
            # A witness that lacks a node is not enough.
            lacking = {**witness, "state": witness["state"][1:]}
            lacking_status = execute(pair, block, lacking)
            assert (lacking_status["status"], lacking_status.get("stateRoot")) != (
                "VALID",
                block["stateRoot"],
            )
    assert executed


def execute(pair: Pair, block: dict[str, Any], witness: dict[str, Any]) -> dict[str, Any]:
    """Return what geth makes of a block and a witness, without looking at its own state."""
    raw = bytes.fromhex(pair.ask("debug_getRawBlock", block["number"])["result"][2:])
    names = ("parentHash", "stateRoot", "receiptsRoot", "logsBloom", "gasLimit", "gasUsed", "timestamp")
    same = (*names, "extraData", "baseFeePerGas", "withdrawals", "blobGasUsed", "excessBlobGas")
    payload = {
        **{name: block[name] for name in same},
        "feeRecipient": block["miner"],
        "prevRandao": block["mixHash"],
        "blockNumber": block["number"],
        "blockHash": block["hash"],
        "transactions": [
            pair.ask("eth_getRawTransactionByHash", each["hash"])["result"] for each in block["transactions"]
        ],
    }
    assert keccak256(encoded_items(raw)[0]).hex() == block["hash"][2:]
    hashes = [each for found in block["transactions"] for each in found.get("blobVersionedHashes", [])]
    params = [
        payload,
        hashes,
        block["parentBeaconBlockRoot"],
        [],
        f"0x{encoded_witness(pair, witness).hex()}",
    ]
    body = {"jsonrpc": "2.0", "id": 1, "method": "engine_executeStatelessPayloadV4", "params": params}
    status: dict[str, Any] = pair.geth.send(body, engine=True)["result"]
    return status


def encoded_witness(pair: Pair, witness: dict[str, Any]) -> bytes:
    headers = [pair.ask("debug_getRawHeader", header["number"])["result"] for header in witness["headers"]]
    lists: list[list[Item]] = [[unhex(item) for item in witness[name]] for name in ("codes", "state")]
    parts = [joined([unhex(header) for header in headers]), *map(encode, lists), encode([])]
    return joined(parts)


def joined(items: list[bytes]) -> bytes:
    """Return the list of items that are encoded already."""
    payload = b"".join(items)
    if len(payload) <= 55:
        return bytes([0xC0 + len(payload)]) + payload
    size = len(payload).to_bytes((len(payload).bit_length() + 7) // 8, "big")
    return bytes([0xF7 + len(size)]) + size + payload


def unhex(text: str) -> bytes:
    return bytes.fromhex(text[2:])


def test_built_blocks_are_geths_with_its_gas_limit(pair: Pair) -> None:
    head = pair.both("eth_getBlockByNumber", "latest", False)
    attributes = {
        "timestamp": hex(int(head["timestamp"], 16) + 12),
        "prevRandao": "0x" + "22" * 32,
        "suggestedFeeRecipient": "0x" + "33" * 20,
        "withdrawals": [],
        "parentBeaconBlockRoot": "0x" + "44" * 32,
    }
    built = pair.both("testing_buildBlockV1", head["hash"], attributes, [], "0x55")
    limit, parent = (int(block["gasLimit"], 16) for block in (built["executionPayload"], head))
    # One chain's head is where both nodes want it, the other one's is on its way there.
    assert limit == parent == 60_000_000 or 0 < abs(limit - 60_000_000) < abs(parent - 60_000_000)
