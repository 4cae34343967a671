"""The helpers of docs/clients hold the values of the chain: by subscription on wsnode, else by polling."""

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.clients.nodes import ADDRESSES
from tests.clients.resuming.bots import CLIENTS, LIBRARIES, Bots
from tests.clients.resuming.storm import Chain, raised_storm
from tests.clients.subscribers.program import Program
from tests.clients.test_resuming import started_anvil_at, started_geth_at
from tests.node_process import Node, started, until

BLOCKS = 6
PAGE = CLIENTS.parent / "how-to/watching.md"
ADDRESS = "ws://127.0.0.1:8545"
REVERTED = 3


@pytest.fixture
def bots(tmp_path: Path) -> Bots:
    (folder := tmp_path / "bots").mkdir()
    return Bots(folder)


@contextmanager
def watching(bots: Bots, url: str, chain: Chain, *, is_changed: bool) -> Iterator[list[Program]]:
    """Start a program of each library that watches the sender, the contract and a slot of it."""
    accounts = (chain.call("eth_accounts")[0], chain.emitter)
    with ExitStack() as stack:
        programs = []
        for library in LIBRARIES:
            bot = bots.start(library, url, chain.emitter, *accounts, script="state", is_changed=is_changed)
            stack.callback(bot.end)
            programs.append(bot)
        yield programs


def values_at(chain: Chain, block: Any) -> Any:
    """Return what a watcher holds after a block, None if it is not on the chain any more."""
    accounts: dict[str, Any] = {}
    for address in (chain.call("eth_accounts")[0], chain.emitter):
        slots = ["0x" + "00" * 32] if address == chain.emitter else []
        reply = chain.ask("eth_getProof", address, slots, block)
        if "result" not in reply:
            return None
        proof = reply["result"]
        members = {name: proof[name] for name in ("nonce", "balance", "codeHash")}
        if slots:
            members["slots"] = {slots[0]: f"0x{int(proof['storageProof'][0]['value'], 16):064x}"}
        accounts[address.lower()] = members
    return accounts


def results_at(chain: Chain, block: Any) -> Any:
    """Return what a watcher of calls holds after a block, None if it is not on the chain any more."""
    found: list[Any] = []
    for address in (chain.call("eth_accounts")[0], chain.emitter):
        reply = chain.ask("eth_getBalance", address, block)
        if "result" not in reply:
            return None
        found.append({"result": f"0x{int(reply['result'], 16):064x}"})
    return found


HELD: dict[str, Callable[[Chain, Any], Any]] = {"state": values_at, "calls": results_at}
"""What is asked for each of the kinds that are said."""


def said(program: Program, kind: str) -> list[tuple[str, Any]]:
    """Return the blocks that a program named and what it held then; of calls, without the revert."""
    told = program.of(kind)
    if kind == "state":
        return [(block_hash, held) for block_hash, held in told]
    assert all(held[-1]["error"]["code"] == REVERTED for _, held in told), told
    return [(block_hash, held[:-1]) for block_hash, held in told]


def holds_head(chain: Chain, program: Program) -> bool:
    assert not program.has_ended, program.complaints
    told = {kind: said(program, kind) for kind in HELD}
    return all(told[kind] and told[kind][-1][1] == at(chain, "latest") for kind, at in HELD.items())


def require_exact(chain: Chain, programs: list[Program]) -> None:
    """Assert that all hold the head's values, and that each held those of the blocks that it named."""
    for program in programs:
        until(f"{program.name} holds the head", partial(holds_head, chain, program))
        if program.name == "web3":
            until("it hears of heads by its own subscription", partial(program.of, "head"))
        for kind, at in HELD.items():
            checked = 0
            for block_hash, held in said(program, kind):
                if (wanted := at(chain, {"blockHash": block_hash})) is not None:
                    assert held == wanted, (program.name, kind, block_hash)
                    checked += 1
            assert checked > 1, (program.name, kind)


def have_states(programs: list[Program], count: int) -> bool:
    return all(len(program.of(kind)) >= count for program in programs for kind in HELD)


def has_changed(program: Program, kind: str) -> bool:
    return len(set(program.of(kind))) > 1 or program.has_ended


@pytest.mark.slow
@pytest.mark.parametrize(
    "started_node", [pytest.param(started_anvil_at, marks=pytest.mark.nightly), started_geth_at]
)
def test_helpers_poll_a_node_without_the_subscription(started_node: Any, bots: Bots, tmp_path: Path) -> None:
    with started_node(tmp_path / "node") as addresses:
        chain = Chain(addresses.http)
        with watching(bots, addresses.websocket, chain, is_changed=False) as programs:
            for number in range(BLOCKS):
                chain.emit_until("all are told", partial(have_states, programs, number + 1))
            if started_node is started_anvil_at:
                # anvil proves its newest block by the state of the moment, which may be a later one's.
                for program in programs:
                    until(f"{program.name} holds the head", partial(holds_head, chain, program))
            else:
                require_exact(chain, programs)


@pytest.mark.slow
def test_helpers_hold_the_values_through_reorganisations_and_kills(bots: Bots, tmp_path: Path) -> None:
    with (
        raised_storm(tmp_path / "chain") as storm,
        watching(bots, storm.url, storm.chain, is_changed=True) as programs,
    ):
        until("all have begun", lambda: have_states(programs, 1))
        for away in (0.0, 0.3):
            for _ in range(BLOCKS):
                storm.step()
            require_exact(storm.chain, programs)
            storm.kill(away=away)
        storm.step()
        require_exact(storm.chain, programs)


@pytest.fixture(scope="module")
def trading() -> Iterator[Node]:
    with started("demo", "--listen", "127.0.0.1:0", "--block-time", "0.5") as node:
        yield node


@pytest.mark.slow
@pytest.mark.parametrize("library", LIBRARIES)
def test_the_guides_programs_say_what_changes(library: str, bots: Bots, trading: Node) -> None:
    names = {"web3": "web3.py"}
    section = PAGE.read_text().split(f"\n## {names.get(library, library)}\n")[1]
    block = re.search(r"^```(ts|python)\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    assert block is not None
    language, program = block.groups()
    assert program.count(ADDRESS) == 1
    suffix = {"ts": "ts", "python": "py"}[language]
    (bots.folder / f"guide_{library}.{suffix}").write_text(
        program.replace(ADDRESS, ADDRESSES["websocket"](trading))
    )
    bot = bots.start(library, script="guide", is_changed=False, is_compiled=language == "ts")
    try:
        for kind in ("balance",) if library == "ethers" else ("balance", "pool"):
            until(f"the {kind} changes", partial(has_changed, bot, kind))
            assert len(set(bot.of(kind))) > 1, bot.complaints
        if library == "viem":
            until("there is a price", lambda: bot.of("price"))
    finally:
        bot.kill()
