"""Blocks 0 to 9 of Starknet's main network, imported once a session, and a way to ask for them."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import pytest
import trio

from tests.memory_transport import Conversation, run
from tests.vector_files import require_vectors
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.jsonrpc.work import CallTask
from wsnode.server.access.router import Caller
from wsnode.starknet.chain import StarknetChain
from wsnode.starknet.proofs.prover import StateProver
from wsnode.starknet.rpc.methods import build_registry
from wsnode.sync.starknet_folder import ImportOutcome, import_folder

Call: TypeAlias = Callable[..., Any]
Importer: TypeAlias = Callable[..., ImportOutcome]


@pytest.fixture(scope="session")
def mainnet() -> Path:
    return require_vectors("starknet/mainnet")


@pytest.fixture(scope="session")
def classes() -> Path:
    return require_vectors("starknet/classes")


@pytest.fixture(scope="session")
def chain(tmp_path_factory: pytest.TempPathFactory, mainnet: Path) -> Iterator[StarknetChain]:
    from tests.vector_files import find_vectors

    with StarknetChain.open(tmp_path_factory.mktemp("mainnet"), writer=True) as chain:
        trio.run(import_folder, chain, mainnet, find_vectors("starknet/classes"))
        yield chain


@pytest.fixture(scope="session")
def call(chain: StarknetChain) -> Call:
    return caller_of(chain)


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[StarknetChain]:
    with StarknetChain.open(tmp_path / "data", writer=True) as chain:
        yield chain


@pytest.fixture
def dump(tmp_path: Path, mainnet: Path) -> Path:
    """Return a copy of the blocks to spoil."""
    return Path(shutil.copytree(mainnet, tmp_path / "dump"))


def caller_of(chain: StarknetChain, version: str | None = None, *, prover: StateProver | None = None) -> Call:
    """Return a function that calls a method and returns its result, or its error as a dict with `code`.

    `version` is that of the specification, as paths end in it.
    """
    dispatcher = Dispatcher(build_registry(prover=prover), chain.snapshot)
    caller = Caller(network="main", rpc_version=version)

    def call(method: str, params: Any = None) -> Any:
        session = Conversation(dispatcher, caller)
        request = {"jsonrpc": "2.0", "id": 1, "method": method} | (
            {} if params is None else {"params": params}
        )
        reply = session.receive(msgspec.json.encode(request))
        if isinstance(reply, CallTask):
            reply = run(reply)
        session.end_turn()
        assert isinstance(reply, bytes)
        answer = msgspec.json.decode(reply)
        return answer["result"] if "result" in answer else answer["error"]

    return call
