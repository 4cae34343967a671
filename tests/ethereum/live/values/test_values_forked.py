"""`state` and `calls` on a chain that begins on another one's block: unknown values are fetched meanwhile."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import pytest
import trio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from trio.testing import wait_all_tasks_blocked

from tests.drawing import examples
from tests.ethereum.development.forks import MemoryClient
from tests.ethereum.live.growing import GrowingChain, growing_chain
from tests.ethereum.live.sessions import Node, open_node
from tests.ethereum.live.values import test_calls, test_state
from tests.ethereum.live.values.test_state import SLOTS, STORE, growth, patching
from tests.live.steps import common_steps
from tests.memory_transport import asking
from wsnode.demo.genesis import forked_genesis
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.head import Head
from wsnode.ethereum.rpc.registry import build_registry
from wsnode.ethereum.state import MissingStateError
from wsnode.ethereum.state_fetchers import Fetch, FetchSession
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.node.services.fork import UpstreamForkBackend
from wsnode.node.services.fork_point import fetch_first
from wsnode.sync.proofs.blocks import ForkPointProofStore
from wsnode.sync.proofs.client import ProofClient
from wsnode.sync.proofs.fetcher import ProofFetcher

pytestmark = pytest.mark.slow

T = TypeVar("T")
GAS = 300_000


class Source:
    """The chain that the others begin on, as a node in this process."""

    def __init__(self, chain: Chain) -> None:
        self._ask = asking(Dispatcher(build_registry(chain), chain.snapshot))

    def raw(self, method: str, params: list[Any]) -> Any:
        return self._ask(method, *params)


class CountedFetches:
    """Fetches for calls, and says whether it does."""

    def __init__(self, supply: ProofFetcher) -> None:
        self.active = 0
        self.is_lack = supply.is_lack
        self._supply = supply

    def begin(self, method: str, params: bytes, view: Any) -> FetchSession:
        """Return the account of one call."""
        return CountedSession(self, self._supply.begin(method, params, view))


class CountedSession:
    """What one call has lacked so far."""

    def __init__(self, fetches: CountedFetches, session: FetchSession) -> None:
        self._fetches = fetches
        self._session = session
        self.moves_on = session.moves_on

    def fetch_for(self, error: Exception) -> Fetch | None:
        """Return what fetches the values that `error` names."""
        fetch = self._session.fetch_for(error)
        return None if fetch is None else partial(self._counted, fetch)

    async def _counted(self, fetch: Fetch) -> None:
        self._fetches.active += 1
        try:
            await fetch()
        finally:
            self._fetches.active -= 1


class ForkedChain(GrowingChain):
    """A chain on the head of another one, whose blocks are made here with the values that they lack."""

    def __init__(self, chain: Chain, source: Source) -> None:
        super().__init__(chain, gas=GAS)
        self.client = MemoryClient(source)
        self.counted = CountedFetches(UpstreamForkBackend(chain, [self.client]).supply)
        self.fetchers = self.counted
        self._source = source

    def grow(self, logs: Sequence[Any] = ()) -> Head:
        """Add a block, once all that it reads is fetched."""
        return self.fetching(partial(super().grow, logs))

    def fetching(self, work: Callable[[], T]) -> T:
        """Return what something returns, once all that it lacks is fetched."""
        while True:
            try:
                return work()
            except MissingStateError as error:
                # The chain's own fetcher is of the running event loop.
                thread = threading.Thread(target=trio.run, args=(partial(self._fetch, error),))
                thread.start()
                thread.join()

    async def _fetch(self, error: MissingStateError) -> None:
        client = MemoryClient(self._source)
        await ProofFetcher(ProofClient(lambda: [client], ForkPointProofStore(self.chain))).fetch(error)

    async def settle(self) -> None:
        """Wait until everything that was sent has arrived, and nothing is fetched."""
        await wait_all_tasks_blocked()
        while self.counted.active:
            await trio.lowlevel.checkpoint()
            await wait_all_tasks_blocked()


class Forks:
    """Begins chains on the head of one."""

    def __init__(self, source: GrowingChain) -> None:
        self._source = Source(source.chain)
        self._genesis = forked_genesis(trio.run(fetch_first, MemoryClient(self._source), None))

    @contextmanager
    def opened(self) -> Iterator[ForkedChain]:
        """Open a new chain, of which no value is known."""
        with (
            TemporaryDirectory() as folder,
            Chain.open(Path(folder), self._genesis, writer=True, durable=False) as chain,
        ):
            forked = ForkedChain(chain, self._source)
            accounts = b'{"0x%b": {}, "0x%b": {}}' % (
                STORE.hex().encode(),
                test_state.STRANGER.hex().encode(),
            )
            forked.fetching(partial(chain.patch, accounts))
            yield forked


@pytest.fixture
def forks(tmp_path: Path) -> Iterator[Forks]:
    with growing_chain(tmp_path, test_calls.called_genesis()) as source:
        source.reorganise(0, [[(STORE, (SLOTS[0], SLOTS[1]))], [(STORE, (SLOTS[1], SLOTS[2]))]])
        yield Forks(source)


def run_calls(forks: Forks, script: Sequence[Any], *, pauses: bool, checks: bool) -> None:
    with forks.opened() as forked:
        trio.run(lambda: test_calls.run(forked, script, pauses=pauses, checks=checks))


@pytest.mark.parametrize("pauses", [False, True], ids=["reads", "reads slowly"])
@settings(
    max_examples=examples(10), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(script=st.lists(growth | common_steps, max_size=12))
def test_a_client_holds_the_outcomes_at_each_block_that_it_is_told(
    forks: Forks, pauses: bool, script: list[Any]
) -> None:
    run_calls(forks, script, pauses=pauses, checks=True)


@settings(
    max_examples=examples(10), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(script=st.lists(patching, max_size=12))
def test_a_client_holds_the_outcomes_of_a_patched_head(forks: Forks, script: list[Any]) -> None:
    run_calls(forks, script, pauses=False, checks=False)


async def test_what_a_call_lacks_after_a_block_is_fetched_then(forks: Forks) -> None:
    with forks.opened() as forked:
        async with open_node(forked) as node:
            client = await node.connect()
            name = await client.subscribe("calls", {"calls": [{"to": f"0x{test_calls.CHOOSING.hex()}"}]})
            await test_calls.rest(node)
            asked = forked.client.memory.asked["eth_getProof"]
            forked.grow([(STORE, (SLOTS[2], SLOTS[2]))])
            node.hub.advance()
            await test_calls.rest(node)
            told = [result["results"] for result in test_calls.results(client, name)]
            assert told == [[{"index": 0, "result": f"0x{balance:064x}"}] for balance in (1000, 1002)]
            assert forked.client.memory.asked["eth_getProof"] == asked + 1


async def settle(node: Node) -> None:
    assert isinstance(node.growing, ForkedChain)
    await node.growing.settle()


@pytest.mark.parametrize("pauses", [False, True], ids=["reads", "reads slowly"])
@settings(
    max_examples=examples(10), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(script=st.lists(growth | common_steps, max_size=12) | st.lists(patching, max_size=12))
def test_a_client_holds_the_values_of_the_head(forks: Forks, pauses: bool, script: list[Any]) -> None:
    with forks.opened() as forked:
        trio.run(lambda: test_state.run(forked, script, pauses=pauses, settle=settle))
