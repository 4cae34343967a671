"""Polls at several nodes of one chain, each of which has got as far as it has: no log twice, none lost."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cluster.filters.keeping import MemoryKeeper
from tests.drawing import examples
from tests.ethereum.live.growing import EMITTERS, TOPICS, GrowingChain, growing_chain
from tests.ethereum.live.sessions import LogView
from tests.ethereum.live.test_replay_model import branches, criteria, expected, request_of
from tests.memory_transport import Ask, asking
from wsnode.ethereum.head import Head
from wsnode.ethereum.live.filter_store import StoredFilter
from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.live.position import Position
from wsnode.ethereum.logs.filter import LogFilter
from wsnode.ethereum.primitives.values import BlockNumber, Hash32
from wsnode.ethereum.rpc.common.limits import CallLimits
from wsnode.ethereum.rpc.logs.stored_filters import OF_BLOCKS
from wsnode.ethereum.rpc.registry import build_registry
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.jsonrpc.errors import RESOURCE_NOT_FOUND, RESOURCE_UNAVAILABLE

pytestmark = pytest.mark.slow

NODES = 3
LOG = (EMITTERS[0], TOPICS[:1])
MISSING = {"code": -32000, "message": "filter not found"}
Change = tuple[int, Any]


@pytest.fixture(scope="module")
def chains(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[GrowingChain]]:
    folders = [tmp_path_factory.mktemp(f"node{number}") for number in range(NODES)]
    with (
        growing_chain(folders[0]) as first,
        growing_chain(folders[1]) as second,
        growing_chain(folders[2]) as third,
    ):
        yield [first, second, third]


class Nodes:
    """Nodes that go through the same changes of one chain, each in its own time."""

    def __init__(self, chains: Sequence[GrowingChain], limits: CallLimits) -> None:
        made = max(chain.made for chain in chains)
        for chain in chains:
            chain.clear()
            chain.made = made
        self._chains = chains
        self._changes: list[Change] = []
        self._done = [0] * len(chains)
        self.keeper = MemoryKeeper()
        self.asks = [self._asker(chain, limits) for chain in chains]

    def ask_as(self, number: int, key: str | None) -> Ask:
        """Return what asks a node with a key."""
        return self._asker(self._chains[number], CallLimits(), key)

    def _asker(self, growing: GrowingChain, limits: CallLimits, key: str | None = None) -> Ask:
        hub = Hub(growing.chain)
        registry = build_registry(growing.chain, limits=limits, hub=hub, filter_keeper=self.keeper)
        return asking(Dispatcher(registry, growing.chain.snapshot), key)

    def change(self, depth: int, branch: Any) -> None:
        """Have the first node, which writes, replace some blocks."""
        self._changes.append((depth, branch))
        self.catch_up(0, 1)

    def catch_up(self, number: int, changes: int) -> None:
        """Have a node go through as many changes of those that it lacks."""
        done = self._done[number]
        for depth, branch in self._changes[done : done + changes]:
            chain = self._chains[number]
            chain.reorganise(min(depth, len(chain.blocks)), branch)
            self._done[number] += 1

    def come_together(self) -> None:
        for number in range(len(self._chains)):
            self.catch_up(number, len(self._changes))


@settings(max_examples=examples(60))
@given(
    wanted=criteria,
    limit=st.integers(1, 6),
    script=st.lists(
        st.tuples(
            st.integers(0, 4),
            branches,
            st.lists(st.tuples(st.integers(0, NODES - 1), st.integers(0, 2)), max_size=4),
        ),
        max_size=8,
    ),
    last=st.lists(st.integers(0, NODES - 1), min_size=1, max_size=4),
)
def test_polls_at_any_node_rebuild_the_canonical_logs(
    chains: list[GrowingChain],
    wanted: LogFilter,
    limit: int,
    script: Sequence[tuple[int, Any, Sequence[tuple[int, int]]]],
    last: Sequence[int],
) -> None:
    nodes = Nodes(chains, CallLimits(logs_results=limit, min_block_seconds=0))
    logs = nodes.asks[0]("eth_newFilter", request_of(wanted))["result"]
    blocks = nodes.asks[1]("eth_newBlockFilter")["result"]
    view, hashes = LogView(), list[str]()

    def poll(number: int) -> bool:
        reply = nodes.asks[number]("eth_getFilterChanges", logs)
        if "error" in reply:
            # The node has not got to the block at which another one was polled.
            assert reply["error"]["code"] == RESOURCE_NOT_FOUND
            return False
        for log in reply["result"]:
            view.apply({"result": log})
        return bool(reply["result"])

    for depth, branch, visits in script:
        nodes.change(depth, branch)
        for number, changes in visits:
            nodes.catch_up(number, changes)
            poll(number)
            hashes += nodes.asks[number]("eth_getFilterChanges", blocks).get("result", [])
    nodes.come_together()
    while sum(poll(number) for number in last):
        pass
    while found := nodes.asks[last[0]]("eth_getFilterChanges", blocks)["result"]:
        hashes += found
    assert view.logs == expected(chains[0], wanted)
    canonical = [f"0x{block.head.hash.hex()}" for block in chains[0].blocks]
    assert [each for each in dict.fromkeys(hashes) if each in canonical] == canonical


def test_every_method_is_that_of_the_filter_at_every_node(chains: list[GrowingChain]) -> None:
    nodes = Nodes(chains, CallLimits())
    wanted = {"fromBlock": "0x1", "address": f"0x{EMITTERS[0].hex()}", "topics": [None]}
    identity = nodes.asks[0]("eth_newFilter", wanted)["result"]
    assert len(identity) == 34
    nodes.change(0, [[LOG, (EMITTERS[1], TOPICS[:1])]])
    nodes.come_together()
    found = nodes.asks[1]("eth_getFilterLogs", identity)["result"]
    assert found == nodes.asks[2]("eth_getLogs", wanted)["result"]
    assert len(found) == 1
    assert nodes.asks[2]("eth_getFilterChanges", identity)["result"] == found
    assert nodes.asks[0]("eth_getFilterChanges", identity)["result"] == []
    assert nodes.asks[1]("eth_uninstallFilter", identity)["result"] is True
    for ask in nodes.asks:
        assert ask("eth_getFilterChanges", identity)["error"] == MISSING
        assert ask("eth_uninstallFilter", identity)["result"] is False


def test_a_filter_of_pending_transactions_is_its_nodes_own(chains: list[GrowingChain]) -> None:
    nodes = Nodes(chains, CallLimits())
    identity = nodes.asks[0]("eth_newPendingTransactionFilter")["result"]
    assert nodes.asks[0]("eth_getFilterChanges", identity)["result"] == []
    assert nodes.asks[1]("eth_getFilterChanges", identity)["error"] == MISSING
    assert nodes.asks[0]("eth_getFilterLogs", identity)["error"] == MISSING
    assert nodes.asks[0]("eth_uninstallFilter", identity)["result"] is True


def test_of_two_polls_at_once_one_gets_the_results(chains: list[GrowingChain]) -> None:
    nodes = Nodes(chains, CallLimits())
    identity = nodes.asks[0]("eth_newBlockFilter")["result"]
    nodes.change(0, [[]])
    nodes.come_together()
    kept = nodes.keeper.kept[identity]
    find = nodes.keeper.find

    async def overtaken(identity: str) -> StoredFilter | None:
        found = await find(identity)
        nodes.keeper.find = find  # type: ignore[method-assign]
        nodes.keeper.kept[identity] = StoredFilter(
            kept.wish, str(Position.after(chains[0].blocks[0].head)).encode()
        )
        return found

    nodes.keeper.find = overtaken  # type: ignore[method-assign]
    assert nodes.asks[0]("eth_getFilterChanges", identity)["result"] == []


def test_while_filters_cannot_be_asked_polls_say_so_and_lose_nothing(chains: list[GrowingChain]) -> None:
    nodes = Nodes(chains, CallLimits())
    identity = nodes.asks[0]("eth_newBlockFilter")["result"]
    nodes.change(0, [[]])
    nodes.keeper.is_away = True
    for method in ("eth_getFilterChanges", "eth_getFilterLogs", "eth_uninstallFilter"):
        assert nodes.asks[0](method, identity)["error"]["code"] == RESOURCE_UNAVAILABLE
    assert nodes.asks[0]("eth_newFilter", {})["error"]["code"] == RESOURCE_UNAVAILABLE
    nodes.keeper.is_away = False
    assert len(nodes.asks[0]("eth_getFilterChanges", identity)["result"]) == 1


def test_a_poll_whose_move_is_not_answered_says_where_to_go_on(chains: list[GrowingChain]) -> None:
    nodes = Nodes(chains, CallLimits())
    identity = nodes.asks[0]("eth_newBlockFilter")["result"]
    place = nodes.keeper.kept[identity].place.decode()
    find = nodes.keeper.find

    async def last(identity: str) -> StoredFilter | None:
        found = await find(identity)
        nodes.keeper.is_away = True
        return found

    nodes.keeper.find = last  # type: ignore[method-assign]
    error = nodes.asks[0]("eth_getFilterChanges", identity)["error"]
    assert (error["code"], error["data"]) == (RESOURCE_UNAVAILABLE, {"cursor": place})


GARBAGE = st.one_of(
    st.binary(max_size=80),
    st.sampled_from(
        [b"[1]", b"[{}", b"[null]", b'[{"fromBlock":"pending"}]', b"[" * 100_000, b'[{"address":"0x1"}]']
    ),
)


@given(wish=st.one_of(GARBAGE, st.just(OF_BLOCKS)), place=GARBAGE)
@settings(max_examples=examples(100))
def test_what_is_no_filter_is_not_found_and_said(
    chains: list[GrowingChain], wish: bytes, place: bytes
) -> None:
    nodes = Nodes(chains, CallLimits())
    identity = "0x" + "ab" * 16
    nodes.keeper.kept[identity] = StoredFilter(wish, place)
    assert nodes.asks[0]("eth_getFilterChanges", identity)["error"] == MISSING
    assert nodes.asks[0]("eth_getFilterLogs", identity)["error"] == MISSING
    assert len(nodes.keeper.reported) == 2


@pytest.mark.parametrize("identity", ["", "0x1", "0x" + "AB" * 16, "0x" + "g" * 32, "x" * 5000])
def test_what_is_no_id_is_not_asked_for(chains: list[GrowingChain], identity: str) -> None:
    nodes = Nodes(chains, CallLimits())
    nodes.keeper.is_away = True
    assert nodes.asks[0]("eth_getFilterChanges", identity)["error"] == MISSING
    assert nodes.asks[0]("eth_uninstallFilter", identity)["result"] is False


def test_a_position_that_no_node_can_know_is_an_error_and_stays(chains: list[GrowingChain]) -> None:
    nodes = Nodes(chains, CallLimits(min_block_seconds=0))
    identity = nodes.asks[0]("eth_newBlockFilter")["result"]
    for number in (0, 99):
        lost = str(Position.after(Head(BlockNumber(number), Hash32(b"x" * 32)))).encode()
        nodes.keeper.kept[identity] = StoredFilter(OF_BLOCKS, lost)
        assert nodes.asks[0]("eth_getFilterChanges", identity)["error"]["code"] == RESOURCE_NOT_FOUND
        assert nodes.keeper.kept[identity].place == lost


@pytest.mark.parametrize("mine", ["bot", None])
@pytest.mark.parametrize("make", ["eth_newBlockFilter", "eth_newFilter", "eth_newPendingTransactionFilter"])
def test_a_filter_is_of_the_key_that_made_it_at_every_node(
    chains: list[GrowingChain], make: str, mine: str | None
) -> None:
    nodes = Nodes(chains, CallLimits())
    owner = nodes.ask_as(0, mine)
    identity = owner(make, *({},) * (make == "eth_newFilter"))["result"]
    for key in {"bot", "other", None} - {mine}:
        for number in (0, 1):
            stranger = nodes.ask_as(number, key)
            assert stranger("eth_getFilterChanges", identity)["error"] == MISSING
            assert stranger("eth_getFilterLogs", identity)["error"] == MISSING
            assert stranger("eth_uninstallFilter", identity)["result"] is False
    assert owner("eth_getFilterChanges", identity)["result"] == []
    assert owner("eth_uninstallFilter", identity)["result"] is True
