"""A light folder's state carried from block to block by access lists, and equal to the full chain's."""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import trio

from tests.demo.test_exchange import Market
from tests.ethereum.development.forks import MemoryClient
from tests.ethereum.development.playground import (
    CREATOR,
    ETHER,
    GENESIS_TIME,
    RECIPIENT,
    STRANGER,
    playground,
)
from tests.sync.proofs.windows import Window, genesis_of, window_of
from wsnode.demo import exchange, token
from wsnode.demo.accounts import ACCOUNTS
from wsnode.demo.run import begin
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.blocks import keccak256
from wsnode.ethereum.codec.rlp import encode, number
from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.live.values.proved_feed import ProvedStateFeed
from wsnode.ethereum.live.values.watched_values import Failure
from wsnode.sync.proofs import blocks

pytestmark = pytest.mark.slow

GENESIS = genesis_of(10_000 * ETHER, GENESIS_TIME, "amsterdam")
FEW = 100
BALANCE_OF = bytes.fromhex("70a08231") + bytes(12)
PROOF = "eth_getProof"
RUNTIME = "3415600857345f555b5f545f5260205ff3"
"""Stores the ether that it is sent in slot 0, if any, and returns the slot."""
CREATION = "0x60075f556011600e5f3960115ff3" + RUNTIME
"""Stores 7 in slot 0."""


class Scene:
    """A market under the rules of Amsterdam, its light folder, and the one upstream of that."""

    def __init__(self, market: Market, light: Window, upstream: MemoryClient) -> None:
        self.market = market
        self.light = light
        self.upstream = upstream

    def trade(self, value: int = 10**9) -> None:
        """Make one block, and have the light folder follow."""
        self.market.send(self.market.exchange, exchange.buy(), value)
        self.light.follow()

    def balance_or_slot(self, key: bytes) -> bytes | tuple[int]:
        """Return the balance of an address, or what is in a slot, at the full chain's head."""
        address, slot = f"0x{key[:20].hex()}", f"0x{key[20:].hex()}"
        if len(key) == 20:
            return (int(self.market.chain("eth_getBalance", address, "latest"), 16),)
        return bytes.fromhex(self.market.chain("eth_getStorageAt", address, slot, "latest")[2:])

    def require_equal(self, calls: Sequence[tuple[str, tuple[Any, ...]]]) -> None:
        for method, params in calls:
            ours, theirs = self.light.reply(method, *params), self.market.chain.raw(method, list(params))
            assert ours == theirs, (method, params)

    def reads(self, block: str = "latest") -> list[tuple[str, tuple[Any, ...]]]:
        contract, market = self.market.token, self.market.exchange
        addresses = (CREATOR, RECIPIENT, STRANGER, contract, market)
        calls: list[tuple[str, tuple[Any, ...]]] = [
            (method, (address, block))
            for address in addresses
            for method in ("eth_getBalance", "eth_getTransactionCount", "eth_getCode")
        ]
        for address in addresses:
            balance = f"0x{(BALANCE_OF + bytes.fromhex(address[2:])).hex()}"
            calls.append(("eth_call", ({"to": contract, "data": balance}, block)))
        calls += [
            ("eth_getStorageAt", (place, hex(slot), block))
            for place in (contract, market)
            for slot in range(4)
        ]
        buy = {"from": CREATOR, "to": market, "value": hex(ETHER), "data": f"0x{exchange.buy().hex()}"}
        return [*calls, ("eth_call", (buy, block)), ("eth_estimateGas", (buy, block))]

    def proofs(self) -> int:
        return self.upstream.memory.asked[PROOF]


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    begin(tmp_path / "theirs", GENESIS, durable=False)
    with playground(tmp_path / "theirs") as chain:
        market, upstream = Market(chain), MemoryClient(chain)
        with window_of(tmp_path / "ours", chain, GENESIS, [upstream]) as light:
            yield Scene(market, light, upstream)


def test_the_same_calls_over_a_hundred_blocks_ask_for_no_proof_after_the_first(scene: Scene) -> None:
    scene.require_equal(scene.reads())
    asked = scene.upstream.memory.asked.copy()
    assert asked[PROOF] > 0
    for value in range(FEW):
        scene.trade(10**9 + value)
        scene.require_equal(scene.reads())
    assert scene.upstream.memory.asked == asked


def test_values_are_carried_over_many_blocks_at_once(scene: Scene) -> None:
    scene.require_equal(scene.reads())
    asked = scene.proofs()
    for _ in range(20):
        scene.trade()
    scene.require_equal(scene.reads())
    # The blocks between as well, each by itself.
    for back in (7, 3, 15):
        scene.require_equal(scene.reads(hex(scene.market.chain.head - back)))
    assert scene.proofs() == asked


async def test_watched_values_are_read_from_the_lists_of_later_blocks(scene: Scene) -> None:
    hub = Hub(scene.light.chain)
    hub.proof_source = scene.light.supply
    feed = ProvedStateFeed(hub, FEW)
    token, creator = bytes.fromhex(scene.market.token[2:]), bytes.fromhex(CREATOR[2:])
    market = bytes.fromhex(scene.market.exchange[2:])
    slots = [account + number.to_bytes(32) for account in (token, market) for number in range(3)]
    watch = feed.hold((creator, market, *slots))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(feed.run)
        asked = None
        for _ in range(10):
            while watch.place is None or watch.place.cursor.head != hub.head:
                await trio.lowlevel.checkpoint()
            for key, value in watch.values.items():
                assert not isinstance(value, Failure)
                told = value if isinstance(value, bytes) else value[1:2]
                assert told == await trio.to_thread.run_sync(scene.balance_or_slot, key)
            proofs = scene.proofs()
            assert proofs == (asked or proofs), "a value that is in the lists was proved"
            asked = proofs
            await trio.to_thread.run_sync(scene.trade)
            hub.advance()
        nursery.cancel_scope.cancel()
    assert asked is not None


def test_what_was_never_proved_is_proved_once(scene: Scene) -> None:
    scene.require_equal(scene.reads())
    asked = scene.proofs()
    stranger = ("eth_getBalance", ("0x" + "5a" * 20, "latest"))
    for _ in range(3):
        scene.trade()
        scene.require_equal([stranger, *scene.reads()])
    assert scene.proofs() == asked + 1


def test_an_account_that_is_made_by_a_later_block_has_its_code_and_slots(scene: Scene) -> None:
    """First it is proved not to be there; lists have its nonce, balance, code and slots."""
    chain = scene.market.chain
    nonce = chain.nonce(CREATOR)
    address = contract_address(bytes.fromhex(CREATOR[2:]), nonce)
    calls: list[tuple[str, tuple[Any, ...]]] = [
        ("eth_getCode", (address, "latest")),
        ("eth_getBalance", (address, "latest")),
        ("eth_getStorageAt", (address, "0x0", "latest")),
        ("eth_call", ({"to": address}, "latest")),
    ]
    scene.require_equal(calls)
    asked = scene.upstream.memory.asked.copy()
    receipt = chain.receipt(chain.send(to=None, value=None, data=CREATION, gas="0x80000"))
    assert receipt is not None
    assert (receipt["status"], receipt["contractAddress"]) == ("0x1", address)
    scene.light.follow()
    scene.require_equal(calls)
    assert scene.light("eth_call", {"to": address}, "latest") == f"0x{7:064x}"
    chain.send(to=address, value="0x9", gas="0x80000")
    scene.light.follow()
    scene.require_equal(calls)
    assert scene.light("eth_getStorageAt", address, "0x0", "latest") == f"0x{9:064x}"
    assert scene.upstream.memory.asked == asked


def contract_address(creator: bytes, nonce: int) -> str:
    return f"0x{keccak256(encode([creator, number(nonce)]))[12:].hex()}"


def test_proofs_and_roots_are_of_the_trie_though_the_values_were_carried(scene: Scene) -> None:
    scene.require_equal(scene.reads())
    scene.trade()
    scene.require_equal(scene.reads())
    asked = scene.proofs()
    contract = scene.market.token
    give = {"from": CREATOR, "to": contract, "data": f"0x{token.transfer(b'9' * 20, 7).hex()}"}
    scene.require_equal(
        [
            (PROOF, (CREATOR, [], "latest")),
            (PROOF, (contract, ["0x0", "0x1"], "latest")),
            ("eth_simulateV1", ({"blockStateCalls": [{"calls": [give]}]}, "latest")),
        ]
    )
    assert scene.proofs() > asked


def test_a_block_without_its_list_is_proved_as_before(scene: Scene) -> None:
    scene.require_equal(scene.reads())
    scene.light.has_lists = False
    asked = scene.proofs()
    scene.trade()
    scene.require_equal(scene.reads())
    assert scene.proofs() > asked
    scene.light.has_lists = True
    asked = scene.proofs()
    scene.trade()
    scene.require_equal(scene.reads())
    assert scene.proofs() == asked


def test_values_follow_the_branch_that_is_canonical(scene: Scene) -> None:
    scene.trade()
    scene.require_equal(scene.reads())
    chain = scene.market.chain
    for depth, values in ((1, (5, 6)), (2, (7, 8, 9))):
        scene.trade(3)
        scene.require_equal(scene.reads())
        chain("anvil_rollback", hex(depth))
        for value in values:
            scene.market.send(scene.market.exchange, exchange.buy(), value)
        scene.light.follow()
        scene.require_equal(scene.reads())


def test_more_blocks_than_the_bound_are_proved_anew(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "MAX_CARRIED", 3)
    balance = [("eth_getBalance", (CREATOR, "latest"))]
    scene.require_equal(balance)
    for count, proofs in ((3, 0), (4, 1)):
        asked = scene.proofs()
        for _ in range(count):
            scene.trade()
        scene.require_equal(balance)
        assert scene.proofs() == asked + proofs


def test_lists_above_the_bound_of_bytes_carry_nothing(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    balance = [("eth_getBalance", (CREATOR, "latest"))]
    scene.require_equal(balance)
    scene.trade()
    scene.require_equal(balance)
    for less, proofs in ((0, 0), (1, 1)):
        asked = scene.proofs()
        scene.trade()
        # Of this block: the hashes that it stores may begin with zero bytes, which are not encoded.
        size = len(scene.light("debug_getRawBlockAccessList", "latest")) // 2 - 1
        monkeypatch.setattr(blocks, "MAX_LIST_BYTES", size - less)
        scene.require_equal(balance)
        assert scene.proofs() == asked + proofs


def test_random_senders_and_gaps_leave_every_value_as_it_is(scene: Scene) -> None:
    chance = random.Random(5)
    senders = [f"0x{account.address.hex()}" for account in ACCOUNTS[:6]]
    for _ in range(30):
        for _ in range(chance.randrange(1, 4)):
            to = chance.choice([*senders, "0x" + f"{chance.randrange(4):040x}"])
            scene.market.chain.send(
                chance.choice(senders), to=to, value=hex(chance.randrange(3)), gas="0x50000"
            )
        scene.light.follow()
        head = scene.market.chain.head
        block = hex(head - chance.randrange(3))
        calls: list[tuple[str, tuple[Any, ...]]] = [
            (method, (address, block))
            for address in (*senders, *(f"0x{low:040x}" for low in range(4)))
            for method in ("eth_getBalance", "eth_getTransactionCount")
        ]
        scene.require_equal(chance.sample(calls, 6))


def test_a_folder_opened_again_still_carries(tmp_path: Path) -> None:
    begin(tmp_path / "theirs", GENESIS, durable=False)
    with playground(tmp_path / "theirs") as chain:
        market, upstream = Market(chain), MemoryClient(chain)
        with window_of(tmp_path / "ours", chain, GENESIS, [upstream]) as light:
            scene = Scene(market, light, upstream)
            scene.require_equal(scene.reads())
            scene.trade()
        asked = upstream.memory.asked.copy()
        with Chain.open(tmp_path / "ours", GENESIS, writer=True, durable=False) as again:
            scene.light = Window(again, chain, [upstream])
            scene.require_equal([read for read in scene.reads() if read[0].startswith("eth_get")])
        assert upstream.memory.asked == asked


def test_the_list_of_a_block_is_kept_and_served(scene: Scene) -> None:
    scene.trade()
    scene.require_equal(
        [("eth_getBlockAccessList", ("latest",)), ("debug_getRawBlockAccessList", ("latest",))]
    )
