"""A follower whose disk fails once in the last step of a block's commit stores that block and goes on."""

from pathlib import Path

import pytest

from tests.node_process import run, started, until
from tests.scenarios.test_following import command, plain, readiness, result, wait_for_head_of
from tests.store.failing_writes import COMPILER, ORDER, build_library


@pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")
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
            for store in ("chain", "state"):
                wait_for_head_of(node, upstream)
                order.write_text(f"ours/eth/{store}/data.mdb")
                result(upstream, "evm_mine")
                wait_for_head_of(node, upstream)
                assert not order.exists(), "no write has failed"
            until("ready", lambda node=node: readiness(node) == (200, "ready\n"))  # type: ignore[misc]
    assert run("doctor", "--data", str(data)).returncode == 0
