"""What many tests share: the chain of the execution-apis vectors, imported once a session."""

from __future__ import annotations

import gc
import os
import shutil
import sys
import tempfile
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING

import pytest
import trio
from hypothesis import HealthCheck, settings

from tests.clocks import stopped
from tests.drawing import examples
from tests.vector_files import require_vectors

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from pathlib import Path

    from tests.ethereum.pool.playground import Playground
    from tests.memory_transport import Ask
    from tests.node_process import Node
    from wsnode.ethereum.chain import Chain
    from wsnode.jsonrpc.dispatcher import Dispatcher

# An example takes as long as other programs let it: a busy machine says nothing about a property.
settings.register_profile(
    "any clock",
    settings.get_profile(settings.get_current_profile_name()),
    max_examples=examples(100),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("any clock")


def pytest_xdist_auto_num_workers() -> int:
    """Return one worker more than there are cores: many tests wait for other processes."""
    return (os.cpu_count() or 1) + 1


def pytest_configure(config: pytest.Config) -> None:
    """Have workers, and processes that tests start, compile a source once, where none may be kept beside it.

    A third of the start of a node is the compiler otherwise, and half of each worker's collection.
    """
    if not sys.dont_write_bytecode or sys.pycache_prefix is not None:
        return
    environment, folder = pytest.MonkeyPatch(), tempfile.mkdtemp(prefix="wsnode-bytecode-")
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
    config.add_cleanup(environment.undo)
    environment.setenv("PYTHONPYCACHEPREFIX", folder)
    environment.delenv("PYTHONDONTWRITEBYTECODE", raising=False)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Collect without the garbage collector, and have it pass over what was collected: all of it stays.

    Otherwise it looks through thousands of tests again and again, a fifth of all the work of a run.
    """
    gc.disable()
    try:
        _compile_own_part(session.config)
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def _compile_own_part(config: pytest.Config) -> None:
    """Import this worker's part of all tests before the others': each finds what the others have compiled.

    All would rewrite the assertions of the same file at the same time otherwise.
    """
    if "PYTEST_XDIST_WORKER" not in os.environ or config.args_source is not config.ArgsSource.TESTPATHS:
        return
    number, count = int(os.environ["PYTEST_XDIST_WORKER"][2:]), int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
    names = sorted(path.relative_to(config.rootpath) for path in config.rootpath.glob("tests/**/test_*.py"))
    for name in names[number * len(names) // count : (number + 1) * len(names) // count]:
        # What it raises is told where it is collected.
        with suppress(Exception, pytest.skip.Exception):
            import_module(".".join(name.with_suffix("").parts))


RECURSION_LIMIT = sys.getrecursionlimit()


def pytest_runtest_setup() -> None:
    """Nest as deeply as a node does: `py_ecc` raises the limit for the process that imports it.

    With its 100,000 a decoder of deep texts runs over the C stack, where a node raises RecursionError.
    """
    sys.setrecursionlimit(min(RECURSION_LIMIT, sys.getrecursionlimit()))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let what runs for an hour do so."""
    for item in items:
        if item.get_closest_marker("soak") is not None:
            item.add_marker(pytest.mark.timeout(0))


@pytest.fixture(scope="session")
def execution_apis_chain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chain]:
    """Return the 54 blocks of execution-apis, executed and verified."""
    from wsnode.ethereum.chain import Chain
    from wsnode.sync.importer import import_files
    from wsnode.sync.progress import NullProgress

    vectors = require_vectors("execution-apis")
    folder = tmp_path_factory.mktemp("execution-apis")
    with Chain.open(folder, (vectors / "genesis.json").read_bytes(), writer=True, durable=False) as chain:
        trio.run(import_files, chain, [str(vectors / "chain.rlp")], NullProgress())
        yield chain


@pytest.fixture(scope="session")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder into which `wsnode import` has brought those blocks; it is to be read, or copied."""
    from tests.node_process import import_chain

    vectors, folder = require_vectors("execution-apis"), tmp_path_factory.mktemp("imported")
    ended = import_chain(folder, vectors / "genesis.json", [vectors / "chain.rlp"])
    assert ended.returncode == 0, ended.stderr
    return folder


@pytest.fixture(scope="session")
def served(imported: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """Return a node that serves that folder without keys."""
    yield from _serving(imported, tmp_path_factory, workers=1)


@pytest.fixture(scope="session")
def served_by_workers(imported: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """Return a node that serves that folder with two workers."""
    yield from _serving(imported, tmp_path_factory, workers=2)


def _serving(data: Path, folders: pytest.TempPathFactory, workers: int) -> Iterator[Node]:
    """Serve a folder, with `PATIENCE` seconds for each call, so that no call times out on a busy machine."""
    from tests.node_process import PATIENCE, started

    names = ("call_seconds", "trace_seconds", "logs_seconds", "trace_filter_seconds", "search_seconds")
    limits = "".join(f"{name} = {PATIENCE}\n" for name in names)
    file = folders.mktemp("served") / "wsnode.toml"
    file.write_text(
        f'listen = "127.0.0.1:0"\nopen = true\nworkers = {workers}\n[limits]\n{limits}'
        f'[networks.one]\ndata = "{data}"\n'
    )
    with started("serve", "--config", str(file)) as node:
        yield node


@pytest.fixture(params=[None, pytest.param("2", marks=pytest.mark.slow)], ids=["one process", "two workers"])
def workers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the nodes that the test starts serve with one process, and again with two workers."""
    from tests.node_process import WORKERS

    if request.param is not None:
        monkeypatch.setenv(WORKERS, request.param)


@pytest.fixture(scope="session")
def dispatcher(execution_apis_chain: Chain) -> Dispatcher:
    """Return the dispatcher over that chain, with every method."""
    return dispatcher_over(execution_apis_chain)


def dispatcher_over(chain: Chain) -> Dispatcher:
    """Return a dispatcher over a chain, with every method."""
    from tests.node_process import PATIENCE
    from wsnode.ethereum.live.hub import Hub
    from wsnode.ethereum.pool.pool import TransactionPool
    from wsnode.ethereum.rpc.common.limits import CallLimits
    from wsnode.ethereum.rpc.registry import build_registry
    from wsnode.jsonrpc.dispatcher import Dispatcher

    limits = CallLimits(call_seconds=PATIENCE, trace_seconds=PATIENCE, logs_seconds=PATIENCE)
    pool = TransactionPool(chain)
    registry = build_registry(
        chain, limits=limits, hub=Hub(chain), pool=pool, with_test_methods=True, timer=stopped
    )
    return Dispatcher(registry, chain.snapshot, clock=stopped)


@pytest.fixture(scope="session")
def ask(dispatcher: Dispatcher) -> Ask:
    """Return a function that calls a method and returns its reply, `result` or `error` and nothing else."""
    from tests.memory_transport import asking

    return asking(dispatcher)


def import_blocks(chain: Chain, path: Path) -> None:
    """Execute the blocks of a file on top of the chain's genesis, without the importer."""
    from wsnode.ethereum.codec.blocks import decode_blocks

    blocks, error = decode_blocks(chain.spec, list(encoded_blocks(path.read_bytes())))
    assert error is None
    with chain.snapshot() as snapshot:
        header, body = snapshot.header(snapshot.number), snapshot.body(snapshot.number)
        total_difficulty = snapshot.total_difficulty(snapshot.number)
    assert header is not None
    assert body is not None
    execution = chain.state.execute(blocks, [(header, body)], total_difficulty=total_difficulty)
    assert execution.error is None
    chain.mark_final(chain.append(execution.verified))


def encoded_blocks(content: bytes) -> Iterator[bytes]:
    """Yield the RLP lists that lie side by side in `content`."""
    start = 0
    while start < len(content):
        prefix = content[start]
        width = max(prefix - 0xF7, 0)
        size = int.from_bytes(content[start + 1 : start + 1 + width], "big") if width else prefix - 0xC0
        yield content[start : start + 1 + width + size]
        start += 1 + width + size


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    call: pytest.CallInfo[None],
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Say why an asynchronous test was skipped: the plugin that runs it skips without the reason."""
    report = yield
    skip = call.excinfo.value if call.excinfo is not None else None
    if report.skipped and isinstance(skip, pytest.skip.Exception) and not skip.msg:
        group = skip.__context__
        while isinstance(group, BaseExceptionGroup):
            group = group.exceptions[0]
        if isinstance(group, pytest.skip.Exception) and isinstance(report.longrepr, tuple):
            report.longrepr = (*report.longrepr[:2], f"Skipped: {group.msg}")
    return report


@pytest.fixture
def playground(tmp_path: Path) -> Iterator[Playground]:
    """Return a chain at its genesis and an empty pool on it."""
    from tests.ethereum.pool.playground import Playground

    made = Playground(tmp_path / "chain")
    yield made
    made.close()


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """Return a file with the secret of an engine's port."""
    file = tmp_path / "jwt.hex"
    file.write_text(bytes(range(32)).hex())
    return file
