"""A write to a store that fails once: a follower stores the block after all, an import can be repeated."""

from itertools import product
from pathlib import Path

import pytest

from tests.node_process import import_chain, run, started, until
from tests.scenarios.test_following import command, plain, readiness, result, wait_for_head_of
from tests.store.failing_writes import (
    FAULTS,
    ORDER,
    PAGES,
    Fault,
    Pages,
    build_library,
    needs_compiler,
    order_failure,
)
from tests.vector_files import require_vectors
from wsnode.ethereum.chain import Chain

pytestmark = [needs_compiler, pytest.mark.slow]


@pytest.mark.parametrize("options", [(), ("--workers", "2")], ids=["one process", "workers"])
def test_a_block_whose_commit_failed_is_stored_after_all(
    tmp_path: Path, options: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    order, library, data = tmp_path / "order", build_library(tmp_path), tmp_path / "ours"
    developed = ("--quiet", "--listen", "127.0.0.1:0", "--data", str(tmp_path / "dev"))
    with started("dev", *developed) as developer, monkeypatch.context() as environment:
        upstream, genesis = plain(developer), tmp_path / "dev/eth/genesis.json"
        environment.setenv("LD_PRELOAD", str(library))
        environment.setenv(ORDER, str(order))
        with started(*command(data, upstream, genesis=genesis), *options) as node:
            for fault, pages in product(FAULTS, PAGES):
                wait_for_head_of(node, upstream)
                order_failure(order, "ours/eth/chain/data.mdb", fault, pages)
                result(upstream, "evm_mine")
                wait_for_head_of(node, upstream)
                assert not order.exists(), f"no write has failed: {fault}, {pages}"
            until("ready", lambda node=node: readiness(node) == (200, "ready\n"))  # type: ignore[misc]
    assert run("doctor", "--data", str(data)).returncode == 0


@pytest.mark.parametrize("pages", PAGES)
@pytest.mark.parametrize(
    "fault", [pytest.param(each, marks=[pytest.mark.nightly] if each != "EIO" else []) for each in FAULTS]
)
def test_an_import_whose_commit_failed_ends_with_a_line_and_can_be_repeated(
    tmp_path: Path, fault: Fault, pages: Pages, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors, order, data = require_vectors("execution-apis"), tmp_path / "order", tmp_path / "data"
    genesis, blocks = vectors / "genesis.json", [vectors / "chain.rlp"]
    with Chain.open(data / "eth", genesis.read_bytes(), writer=True, durable=False) as chain:
        first = chain.head
    with monkeypatch.context() as environment:
        environment.setenv("LD_PRELOAD", str(build_library(tmp_path)))
        environment.setenv(ORDER, str(order))
        order_failure(order, "/eth/chain/data.mdb", fault, pages)
        failed = import_chain(data, genesis, blocks)
    assert not order.exists(), "no write has failed"
    assert (failed.returncode, failed.stderr.count("\n")) == (1, 1)
    assert f"{data}/eth/chain" in failed.stderr
    assert run("doctor", "--data", str(data)).returncode == 0
    again = import_chain(data, genesis, blocks)
    assert again.returncode == 0, again.stderr
    with Chain.open(data / "eth", writer=False) as chain:
        assert chain.head.number > first.number
    assert run("doctor", "--data", str(data)).returncode == 0
