"""A light folder's state: proved by its upstreams, and equal to theirs at each of its blocks."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trio

from tests.demo.test_exchange import Market
from tests.ethereum.development.forks import MemoryClient
from tests.ethereum.development.playground import CREATOR, ETHER, GENESIS_TIME, STRANGER, playground
from tests.sync.proofs.test_fetcher import damage
from tests.sync.proofs.windows import Window, genesis_of, window_of
from wsnode.demo import exchange, token
from wsnode.demo.accounts import ACCOUNTS
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.state import MissingStateError
from wsnode.jsonrpc.errors import RpcError

pytestmark = pytest.mark.slow

TRADER = f"0x{ACCOUNTS[3].address.hex()}"
HOLDER = bytes.fromhex("70a08231") + bytes(12)


class Scene:
    """A market, its light folder, and the one upstream of that."""

    def __init__(self, market: Market, light: Window, upstream: MemoryClient) -> None:
        self.market = market
        self.light = light
        self.upstream = upstream

    def both(self, method: str, *params: Any) -> tuple[Any, Any]:
        """Return the light folder's reply, and the full chain's."""
        return self.light.reply(method, *params), self.market.chain.raw(method, list(params))

    def asked(self) -> int:
        return self.upstream.memory.asked.total()

    def reads(self, block: str) -> Iterator[tuple[str, tuple[Any, ...]]]:
        """Yield calls that read the state after a block."""
        contract, market = self.market.token, self.market.exchange
        for address in (CREATOR, TRADER, STRANGER, contract, market):
            yield "eth_getBalance", (address, block)
            yield "eth_getTransactionCount", (address, block)
            yield "eth_getCode", (address, block)
            yield "eth_getStorageAt", (address, "0x0", block)
            yield "eth_getProof", (address, ["0x0", "0x99"], block)
            balance = f"0x{(HOLDER + bytes.fromhex(address[2:])).hex()}"
            yield "eth_call", ({"to": contract, "data": balance}, block)
        yield "eth_getStorageValues", ({contract: ["0x0", "0x1"]}, block)
        transfer = f"0x{token.transfer(ACCOUNTS[1].address, 5).hex()}"
        yield "eth_call", ({"from": CREATOR, "to": contract, "data": transfer}, block)
        buy = {"from": CREATOR, "to": market, "value": hex(ETHER), "data": f"0x{exchange.buy().hex()}"}
        yield "eth_call", (buy, block)
        yield "eth_estimateGas", (buy, block)
        yield "eth_createAccessList", (buy, block)
        yield "eth_call", (buy, block, {CREATOR: {"balance": "0x0"}})
        for back in (1, 2, 200):
            code = {STRANGER: {"code": f"0x61{back:04x}4303405f5260205ff3"}}
            yield "eth_call", ({"to": STRANGER}, block, code)
            yield "eth_call", ({"to": STRANGER}, block, code, {"number": hex(int(block, 16) + 1)})


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with playground(tmp_path / "theirs") as chain:
        market, upstream = Market(chain), MemoryClient(chain)
        for swap in range(4):
            market.send(market.exchange, exchange.buy(), 10**9 + swap)
        genesis = genesis_of(10_000 * ETHER, GENESIS_TIME)
        with window_of(tmp_path / "ours", chain, genesis, [upstream]) as light:
            yield Scene(market, light, upstream)


@pytest.mark.parametrize("back", [0, 3])
def test_every_read_is_the_full_chains(scene: Scene, back: int) -> None:
    block = hex(scene.market.chain.head - back)
    for method, params in scene.reads(block):
        ours, theirs = scene.both(method, *params)
        assert ours == theirs, (method, params)
    before = scene.asked()
    for method, params in scene.reads(block):
        ours, theirs = scene.both(method, *params)
        assert ours == theirs, (method, params)
    assert scene.asked() == before


def test_a_state_is_that_of_its_block_though_others_are_known(scene: Scene) -> None:
    chain = scene.market.chain
    for number in range(1, chain.head + 1):
        for address in (CREATOR, scene.market.exchange):
            for method in ("eth_getBalance", "eth_getTransactionCount"):
                ours, theirs = scene.both(method, address, hex(number))
                assert ours == theirs
    market = scene.market
    market.send(market.exchange, exchange.buy(), ETHER)
    scene.light.follow()
    ours, theirs = scene.both("eth_getBalance", market.exchange, "latest")
    assert ours == theirs


def test_code_is_fetched_once_for_all_blocks(scene: Scene) -> None:
    token_address = scene.market.token
    for number in (1, 2, 3, 4, 5):
        ours, theirs = scene.both("eth_getCode", token_address, hex(number))
        assert ours == theirs
    # Block 1 deployed it.
    assert scene.upstream.memory.asked["eth_getCode"] == 1


def test_an_account_that_gets_code_is_known_with_it(tmp_path: Path) -> None:
    with playground(tmp_path / "theirs") as chain:
        upstream = MemoryClient(chain)
        chain.send()
        genesis = genesis_of(10_000 * ETHER, GENESIS_TIME)
        with window_of(tmp_path / "ours", chain, genesis, [upstream]) as light:
            sent = chain.send(to=None, value=None, data="0x6001600c60003960016000f300", gas="0x20000")
            receipt = chain.receipt(sent)
            assert receipt is not None
            light.follow()
            created = receipt["contractAddress"]
            assert light("eth_getCode", created, "0x1") == "0x"
            assert (
                light("eth_getCode", created, "latest") == chain("eth_getCode", created, "latest") == "0x00"
            )


def test_a_lie_is_refused_and_the_next_upstream_asked(tmp_path: Path) -> None:
    with playground(tmp_path / "theirs") as chain:
        liar, honest = MemoryClient(chain, "liar"), MemoryClient(chain, "honest")
        Market(chain)
        liar.memory.lie = damage
        honest.score.failed()
        genesis = genesis_of(10_000 * ETHER, GENESIS_TIME)
        with window_of(tmp_path / "ours", chain, genesis, [liar, honest]) as light:
            balance = chain("eth_getBalance", CREATOR, "latest")
            assert light("eth_getBalance", CREATOR, "latest") == balance
            named = {figure.labels["upstream"]: figure.value for figure in wrong_proofs(light)}
            assert named == {"http://honest": 0, "http://liar": 1}
            honest.memory.is_gone = True
            error = light.error("eth_getBalance", STRANGER, "latest")
            assert error["code"] == -32002
            assert error["data"]["upstreams"]["http://honest"] == "unreachable"
            assert error["data"]["upstreams"]["http://liar"].startswith("wrong: ")
            # What was known before is answered yet.
            assert light("eth_getBalance", CREATOR, "latest") == balance


def wrong_proofs(light: Window) -> list[Any]:
    return [figure for figure in light.network.figures() if figure.name == "wsnode_wrong_proofs_total"]


def test_a_block_that_no_upstream_proves_any_more_is_a_typed_error(scene: Scene) -> None:
    scene.upstream.memory.is_gone = True
    error = scene.light.error("eth_call", {"to": scene.market.token}, "0x2")
    assert (error["code"], error["data"]["block"]["number"]) == (-32002, "0x2")


def test_a_block_that_left_the_chain_while_proofs_were_fetched_is_not_found(scene: Scene) -> None:
    chain, state = scene.market.chain, scene.light.chain.state
    head = scene.light.chain.head
    with pytest.raises(MissingStateError) as lacking:
        state.account(bytes.fromhex(STRANGER[2:]), (head.number, head.hash))
    chain("anvil_rollback", "0x1")
    chain.send(value="0x2")
    scene.light.follow()
    with pytest.raises(RpcError, match="header not found"):
        trio.run(scene.light.supply.fetch, lacking.value)
    ours, theirs = scene.both("eth_getBalance", CREATOR, "latest")
    assert ours == theirs


def test_eight_callers_fetch_once(scene: Scene) -> None:
    head = scene.light.chain.head
    block, stranger = (head.number, head.hash), bytes.fromhex(STRANGER[2:])
    state = scene.light.chain.state

    async def one() -> None:
        while True:
            try:
                assert state.account(stranger, block) is None
            except MissingStateError as error:
                await scene.light.supply.fetch(error)
            else:
                return

    async def eight() -> None:
        async with trio.open_nursery() as nursery:
            for _ in range(8):
                nursery.start_soon(one)

    trio.run(eight)
    assert scene.upstream.memory.asked["eth_getProof"] == 1


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("debug_codeByHash", ["0x" + "77" * 32]),
        ("debug_getModifiedAccountsByNumber", [2, 3]),
        ("debug_executionWitness", ["0x3"]),
    ],
)
def test_what_cannot_be_proved_is_error_4444(scene: Scene, method: str, params: list[Any]) -> None:
    error = scene.light.error(method, *params)
    assert (error["code"], error["message"]) == (4444, "pruned history unavailable")
    assert error["data"]["reason"]


def test_pending_is_the_head_as_no_block_is_built(scene: Scene) -> None:
    token_call = {
        "from": CREATOR,
        "to": scene.market.token,
        "data": f"0x{token.transfer(b'9' * 20, 7).hex()}",
    }
    methods: list[tuple[str, list[Any], list[Any]]] = [
        ("eth_getBalance", [CREATOR], []),
        ("eth_getTransactionCount", [CREATOR], []),
        ("eth_getCode", [scene.market.token], []),
        ("eth_getStorageAt", [scene.market.token, "0x0"], []),
        ("eth_getStorageValues", [{scene.market.token: ["0x" + "00" * 32]}], []),
        ("eth_getAccountInfo", [CREATOR], []),
        ("eth_getProof", [CREATOR, []], []),
        ("eth_call", [token_call], []),
        ("eth_estimateGas", [token_call], []),
        ("eth_createAccessList", [token_call], []),
        ("eth_simulateV1", [{"blockStateCalls": [{"calls": [token_call]}]}], []),
        ("debug_traceCall", [token_call], [{"tracer": "callTracer"}]),
        ("debug_traceBlockByNumber", [], [{"tracer": "callTracer"}]),
        ("trace_block", [], []),
        ("eth_getBlockByNumber", [], [True]),
        ("eth_getHeaderByNumber", [], []),
        ("eth_getBlockReceipts", [], []),
        ("eth_getBlockTransactionCountByNumber", [], []),
        ("eth_getTransactionByBlockNumberAndIndex", [], ["0x0"]),
        ("eth_feeHistory", ["0x2"], [[50]]),
        ("ots_hasCode", [scene.market.token], []),
        ("ots_getBlockDetails", [], []),
    ]
    for method, before, after in methods:
        pending, latest = (scene.light.reply(method, *before, tag, *after) for tag in ("pending", "latest"))
        assert "result" in latest, (method, latest)
        assert pending == latest, method


def test_simulated_blocks_are_the_full_chains_with_their_roots(scene: Scene) -> None:
    market = scene.market
    buy = {"from": CREATOR, "to": market.exchange, "value": hex(ETHER), "data": f"0x{exchange.buy().hex()}"}
    give = {"from": CREATOR, "to": market.token, "data": f"0x{token.transfer(b'9' * 20, 7).hex()}"}
    blocks = [{"calls": [buy, give]}, {"calls": [buy], "stateOverrides": {STRANGER: {"balance": "0x5"}}}]
    ours, theirs = scene.both("eth_simulateV1", {"blockStateCalls": blocks}, "latest")
    assert ours == theirs
    assert [block["calls"][0]["status"] for block in ours["result"]] == ["0x1", "0x1"]


def test_a_root_that_depends_on_what_no_proof_shows_is_error_4444(tmp_path: Path) -> None:
    """Of two slots one is cleared: the root is the other's, which was never asked for."""
    contract = "0x" + "5e" * 20
    with playground(tmp_path / "theirs") as chain:
        # SSTORE(0, 0)
        chain("anvil_setCode", contract, "0x5f5f5500")
        for slot in ("0x0", "0x1"):
            chain("anvil_setStorageAt", contract, slot, f"0x{7:064x}")
        chain("evm_mine")
        genesis = genesis_of(10_000 * ETHER, GENESIS_TIME)
        with window_of(tmp_path / "ours", chain, genesis, [MemoryClient(chain)]) as light:
            call = {"blockStateCalls": [{"calls": [{"from": CREATOR, "to": contract}]}]}
            error = light.error("eth_simulateV1", call, "latest")
            assert (error["code"], error["message"]) == (4444, "pruned history unavailable")
            assert error["data"]["reason"].endswith("no root of the state that follows")
            # Its proof shows the other one, too.
            light("eth_getStorageAt", contract, "0x1", "latest")
            assert light("eth_simulateV1", call, "latest") == chain("eth_simulateV1", call, "latest")


@pytest.mark.parametrize("options", [{}, {"tracer": "callTracer"}, {"tracer": "prestateTracer"}])
def test_a_traced_transaction_is_the_full_chains(scene: Scene, options: dict[str, str]) -> None:
    block = scene.market.chain.block()
    for method, name in (
        ("debug_traceTransaction", block["transactions"][0]),
        ("debug_traceBlockByHash", block["hash"]),
    ):
        ours, theirs = scene.both(method, name, options)
        assert ours == theirs, ours


def test_a_block_below_the_window_is_error_4444(tmp_path: Path) -> None:
    with playground(tmp_path / "theirs") as chain:
        for _ in range(4):
            chain.send()
        genesis = genesis_of(10_000 * ETHER, GENESIS_TIME)
        with window_of(tmp_path / "ours", chain, genesis, [MemoryClient(chain)], first=3) as light:
            error = light.error("eth_getBalance", CREATOR, "0x2")
            assert error["data"] == {"requested": "0x2", "earliest": "0x3"}
            # A trace needs the state of the block before.
            (first,) = chain.block(3)["transactions"]
            assert light.error("debug_traceTransaction", first) == error
            assert light("eth_getBalance", CREATOR, "0x3") == chain("eth_getBalance", CREATOR, "0x3")


def test_a_folder_opened_again_still_knows_what_was_proved(tmp_path: Path) -> None:
    with playground(tmp_path / "theirs") as chain:
        market, upstream = Market(chain), MemoryClient(chain)
        genesis = genesis_of(10_000 * ETHER, GENESIS_TIME)
        asked = ("eth_getStorageAt", market.token, "0x0", "latest")
        with window_of(tmp_path / "ours", chain, genesis, [upstream]) as light:
            value = light(*asked)
        upstream.memory.is_gone = True
        with Chain.open(tmp_path / "ours", genesis, writer=True, durable=False) as again:
            assert Window(again, chain, [upstream])(*asked) == value == chain(*asked)
