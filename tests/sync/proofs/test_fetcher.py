"""Fetching what calls lack: from an honest node if another lies, once for all, and not without end."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from tests.demo.test_exchange import Market
from tests.ethereum.development.forks import Held, MemoryClient, forked_playground, rounds_of
from tests.ethereum.development.playground import (
    ETHER,
    GENESIS_TIME,
    STRANGER,
    Playground,
    RefusedError,
    playground,
)
from tests.sync.proofs.windows import genesis_of, window_of
from wsnode.demo.genesis import forked_genesis
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.primitives.values import Hash32
from wsnode.ethereum.rpc.middlewares.state_fetching import ChainRegistry
from wsnode.ethereum.state import MissingStateError, State
from wsnode.jsonrpc.errors import RpcError
from wsnode.node.services.fork import UpstreamForkBackend
from wsnode.node.services.fork_point import fetch_first
from wsnode.server.scheduling.executor import gather
from wsnode.sync.proofs.blocks import ForkPointProofStore
from wsnode.sync.proofs.client import ProofClient
from wsnode.sync.proofs.fetcher import ProofFetcher
from wsnode.sync.proofs.state_request import StateRequest
from wsnode.upstream.errors import UpstreamRefusedError

# Reads as many slots as the first word of its input says: for (i = n; i > 0; i--) SLOAD(i).
READER = "0x5f355b801560125780545060019003600256" + "5b00"


@pytest.fixture
def chain(tmp_path: Path) -> Iterator[Playground]:
    with playground(tmp_path / "theirs") as opened:
        yield opened


@contextmanager
def forked_chain(folder: Path, client: MemoryClient) -> Iterator[tuple[Chain, UpstreamForkBackend]]:
    """Open a new chain on the head of the client's, and what fetches its state; no account is set on it."""
    first = trio.run(fetch_first, client, None)
    with Chain.open(folder / "ours", forked_genesis(first), writer=True, durable=False) as chain:
        yield chain, UpstreamForkBackend(chain, [client])


def reader_on(chain: Playground) -> str:
    """Return a contract that has storage and reads slots."""
    address = "0x" + "5e" * 20
    chain("anvil_setCode", address, READER)
    chain("anvil_setStorageAt", address, "0x1", "0x" + "00" * 31 + "07")
    chain("evm_mine")
    return address


def reading(address: str, slots: int) -> dict[str, Any]:
    return {"to": address, "data": f"0x{slots:064x}"}


def damage(method: str, _params: list[Any], result: Any) -> Any:
    if method != "eth_getProof":
        return result
    first = result["accountProof"][0]
    return result | {
        "accountProof": [first[:-1] + ("1" if first[-1] == "0" else "0"), *result["accountProof"][1:]]
    }


def test_an_honest_node_is_asked_where_another_lies(tmp_path: Path, chain: Playground) -> None:
    Market(chain)
    liar, honest = MemoryClient(chain, "liar"), MemoryClient(chain, "honest")
    with forked_playground(tmp_path / "ours", [honest, liar]) as fork:
        liar.memory.lie = damage
        honest.score.failed()
        assert fork("eth_getBalance", "0x" + "77" * 20, "latest") == "0x0"
        assert isinstance(fork.registry, ChainRegistry)
        supply = fork.registry.state_fetchers
        assert isinstance(supply, ProofFetcher)
        provers = supply.provers
        assert provers.wrong["http://liar"] == 1
        assert provers.wrong["http://honest"] == 0
        honest.memory.is_gone = True
        error = fork.raw("eth_getBalance", ["0x" + "78" * 20, "latest"])["error"]
        assert error["code"] == -32002
        assert error["data"]["upstreams"]["http://honest"] == "unreachable"
        assert error["data"]["upstreams"]["http://liar"].startswith("wrong: ")


def test_one_whose_connection_is_lost_is_asked_once_more(tmp_path: Path, chain: Playground) -> None:
    Market(chain)
    client = MemoryClient(chain)
    with forked_playground(tmp_path / "ours", [client]) as fork:
        client.memory.losses = 1
        assert fork("eth_getBalance", "0x" + "77" * 20, "latest") == "0x0"
        client.memory.losses = 100
        error = fork.raw("eth_getBalance", ["0x" + "78" * 20, "latest"])["error"]
        assert error["code"] == -32002
        assert error["data"]["upstreams"] == {"http://upstream": "the connection was lost"}
        client.memory.lie, client.memory.losses = damage, 1
        error = fork.raw("eth_getBalance", ["0x" + "78" * 20, "latest"])["error"]
        assert error["data"]["upstreams"]["http://upstream"].startswith("wrong: ")


def test_a_call_may_read_only_so_much(tmp_path: Path, chain: Playground) -> None:
    address = reader_on(chain)
    with forked_playground(tmp_path / "ours", [MemoryClient(chain)]) as fork:
        assert fork("eth_call", reading(address, 200), "latest") == "0x"
        with pytest.raises(RefusedError, match="reads more of the state") as refused:
            fork("eth_call", reading(address, 900), "latest")
        assert refused.value.code == -32005


@pytest.mark.parametrize(
    "entry", [{"address": "0x77"}, {"address": "0x" + "77" * 20, "storageKeys": ["0x01"]}]
)
def test_a_hint_in_another_form_is_no_hint(entry: Any, tmp_path: Path, chain: Playground) -> None:
    address = reader_on(chain)
    client = MemoryClient(chain)
    client.memory.lie = lambda method, _params, result: (
        {"accessList": [entry], "gasUsed": "0x0"} if method == "eth_createAccessList" else result
    )
    with forked_playground(tmp_path / "ours", [client]) as fork:
        assert fork("eth_call", reading(address, 3), "latest") == "0x"


def test_forty_slots_take_three_rounds_at_most(tmp_path: Path, chain: Playground) -> None:
    address = reader_on(chain)
    client = MemoryClient(chain)
    with forked_playground(tmp_path / "ours", [client]) as fork:
        before = rounds_of(fork)
        fork("eth_call", reading(address, 40), "latest")
        assert rounds_of(fork) - before <= 3


def test_callers_at_once_share_what_is_fetched(tmp_path: Path, chain: Playground) -> None:
    client = MemoryClient(chain)
    with forked_chain(tmp_path, client) as (fork, forking):
        head = fork.head.number, fork.head.hash
        stranger = bytes.fromhex(STRANGER[2:])

        async def one() -> None:
            try:
                fork.state.account(stranger, head)
            except MissingStateError as error:
                await forking.supply.fetch(error)
            assert fork.state.account(stranger, head) is None

        async def eight() -> None:
            async with trio.open_nursery() as nursery:
                for _ in range(8):
                    nursery.start_soon(one)

        client.memory.asked.clear()
        trio.run(eight)
        assert client.memory.asked["eth_getProof"] == 1
        assert forking.supply.rounds == 1


def test_what_calls_lack_at_once_is_one_round(tmp_path: Path, chain: Playground) -> None:
    client = MemoryClient(chain)
    with forked_chain(tmp_path, client) as (fork, forking):
        head = fork.head.number, fork.head.hash
        addresses = [number.to_bytes(20, "big") for number in range(0x5000, 0x5008)]

        def lacking(address: bytes) -> MissingStateError:
            with pytest.raises(MissingStateError) as error:
                fork.state.account(address, head)
            return error.value

        fetches = [partial(forking.supply.fetch, lacking(address)) for address in addresses]
        assert trio.run(gather, fetches) == [None] * len(addresses)
        assert forking.supply.rounds == 1
        for address in addresses:
            assert fork.state.account(address, head) is None


def test_one_that_cannot_be_had_leaves_the_others_theirs(tmp_path: Path, chain: Playground) -> None:
    client = MemoryClient(chain)
    bad = b"\xbd" * 20

    def lie(method: str, params: list[Any], result: Any) -> Any:
        if method == "eth_getProof" and params[0] == f"0x{bad.hex()}":
            raise UpstreamRefusedError(-32000, "no proof of that one")
        return result

    with forked_chain(tmp_path, client) as (fork, forking):
        client.memory.lie = lie
        head = fork.head.number, fork.head.hash
        errors = []
        for address in (bad, b"\x31" * 20, b"\x32" * 20):
            with pytest.raises(MissingStateError) as error:
                fork.state.account(address, head)
            errors.append(error.value)
        fetches = [partial(forking.supply.fetch, each) for each in errors]
        failures = trio.run(gather, fetches)
        assert [failure is None for failure in failures] == [False, True, True]
        assert fork.state.account(b"\x31" * 20, head) is None
        assert fork.state.account(b"\x32" * 20, head) is None
        assert "no proof of that one" in str(failures[0])


def test_slots_wait_for_their_account_that_is_on_its_way(tmp_path: Path, chain: Playground) -> None:
    """Ask for an account, whose code arrives late, and meanwhile for that account and a slot of it."""
    address = bytes.fromhex(reader_on(chain)[2:])
    client = MemoryClient(chain)
    with forked_chain(tmp_path, client) as (fork, forking):
        trio.run(two_callers, fork.state, (fork.head.number, fork.head.hash), address, client, forking.supply)
        assert forking.supply.provers.wrong.total() == 0


def test_slots_wait_for_their_account_in_a_light_folder(tmp_path: Path, chain: Playground) -> None:
    chain.send()
    genesis = genesis_of(10_000 * ETHER, GENESIS_TIME)
    address = bytes.fromhex(reader_on(chain)[2:])
    client = MemoryClient(chain)
    with window_of(tmp_path / "ours", chain, genesis, [client]) as light:
        state, head = light.chain.state, light.chain.head
        # The engine knows the block's state root from now on.
        light("eth_getBalance", STRANGER, "latest")
        trio.run(two_callers, state, (head.number, head.hash), address, client, light.supply)
        assert light.supply.provers.wrong.total() == 0


async def two_callers(
    state: State, block: tuple[int, Hash32], address: bytes, client: MemoryClient, supply: ProofFetcher
) -> None:
    """Have one caller fetch an account, and meanwhile another one that account with a slot of it."""
    client.memory.held["eth_getCode"] = code = Held()
    slot = bytes(31) + b"\x01"
    before = client.memory.asked.copy()
    with pytest.raises(MissingStateError) as lacking:
        state.account(address, block)
    both = MissingStateError("an account and a slot")
    both.accounts, both.slots, both.block = [address], [(address, slot)], lacking.value.block
    async with trio.open_nursery() as nursery:
        nursery.start_soon(supply.fetch, lacking.value)
        await code.asked.wait()
        nursery.start_soon(supply.fetch, both)
        await trio.testing.wait_all_tasks_blocked()
        assert client.memory.asked["eth_getProof"] == before["eth_getProof"] + 1
        code.released.set()
    assert client.memory.asked["eth_getCode"] == before["eth_getCode"] + 1
    assert state.storage(address, slot, block) == bytes(31) + b"\x07"


def test_slots_whose_account_is_forgotten_are_asked_for_with_it(tmp_path: Path, chain: Playground) -> None:
    """Empty a full store between the run that found the account known and the proof of its slot."""
    address, slot = bytes.fromhex(reader_on(chain)[2:]), bytes(31) + b"\x01"
    client = MemoryClient(chain)
    with forked_chain(tmp_path, client) as (fork, forking):
        lacking = MissingStateError("a slot")
        lacking.slots = [(address, slot)]
        trio.run(forking.supply.fetch, lacking)
        assert forking.supply.provers.wrong.total() == 0
        assert fork.state.storage(address, slot, (fork.head.number, fork.head.hash)) == bytes(31) + b"\x07"


class Forgetful(ForkPointProofStore):
    """What has had all code, and has been emptied since."""

    def has_code(self, code_hash: bytes) -> bool:
        return True


def test_an_upstream_is_not_blamed_for_code_that_was_here_before(tmp_path: Path, chain: Playground) -> None:
    address = bytes.fromhex(reader_on(chain)[2:])
    client = MemoryClient(chain)
    with forked_chain(tmp_path, client) as (fork, forking):
        provers = ProofClient(lambda: [client], Forgetful(fork))
        block = ForkPointProofStore(fork).block
        # Its code is not asked for from now on.
        provers._coded.add(address)
        trio.run(provers.prove, [StateRequest(address)], block)
        assert provers.wrong.total() == 0
        account = fork.state.account(address, (block.head.number, block.head.hash))
        assert account is not None
        assert fork.state.find_code(account[2]) == bytes.fromhex(READER[2:])
        assert forking.supply.rounds == 0


def test_a_failed_fetch_is_each_callers_own(tmp_path: Path, chain: Playground) -> None:
    client = MemoryClient(chain)
    with forked_chain(tmp_path, client) as (fork, forking):
        client.memory.is_gone = True
        head = fork.head.number, fork.head.hash
        with pytest.raises(MissingStateError) as lacking:
            fork.state.account(bytes.fromhex(STRANGER[2:]), head)
        with pytest.raises(RpcError, match="unreachable"):
            trio.run(forking.supply.fetch, lacking.value)
        client.memory.is_gone = False
        trio.run(forking.supply.fetch, lacking.value)
