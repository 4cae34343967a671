"""Upstreams that lack methods or are of another chain, and a folder that is taken: a clear line each."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.node_process import run, started, until
from tests.scenarios.test_following import (
    command,
    following,
    head,
    lying,
    payment,
    plain,
    readiness,
    reason_of_quarantine,
    result,
    wait_for_head_of,
    websocket,
)

pytestmark = pytest.mark.slow


@contextmanager
def development_chain(folder: Path, *options: str) -> Iterator[tuple[str, Path]]:
    """Run a chain of ours that makes a block a second, and give its URL and its genesis."""
    shared = ("--quiet", "--block-time", "1", "--listen", "127.0.0.1:0", "--data", str(folder))
    with started("dev", *shared, *options) as node:
        yield plain(node), folder / "eth" / "genesis.json"


def test_an_upstream_without_receipts_logs_and_raw_blocks_is_followed_all_the_same(tmp_path: Path) -> None:
    missing = ("eth_getBlockReceipts", "eth_getTransactionReceipt", "eth_getLogs", "debug_")
    with (
        development_chain(tmp_path / "dev") as (url, genesis),
        lying(url, *(f"no-method={name}" for name in missing)) as upstream,
        following(tmp_path / "ours", upstream, genesis=genesis) as node,
    ):
        sent = result(url, "eth_sendRawTransaction", payment(31337, 0))
        until("a receipt", lambda: result(plain(node), "eth_getTransactionReceipt", sent))
        found = result(plain(node), "eth_getTransactionReceipt", sent)
        assert found == result(url, "eth_getTransactionReceipt", sent)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--chain-id", "77"), "it is chain 77, not 31337"),
        (("--balance", "5"), "its genesis block is 0x"),
    ],
    ids=["chain id", "genesis"],
)
def test_an_upstream_of_another_chain_is_named_once_and_not_followed(
    options: tuple[str, ...], words: str, tmp_path: Path
) -> None:
    with (
        (tmp_path / "log").open("w+") as log,
        development_chain(tmp_path / "ours") as (_url, genesis),
        development_chain(tmp_path / "theirs", *options) as (url, _theirs),
    ):
        arguments = command(tmp_path / "followed", websocket(url), genesis=genesis)
        with started(*arguments, stderr=log) as node:
            assert words in reason_of_quarantine(node)
            assert readiness(node)[0] == 503
            assert head(plain(node))[0] == 0
        log.seek(0)
        assert len([line for line in log if words in line]) == 1


def test_a_folder_that_is_followed_already_is_refused_in_a_line(tmp_path: Path) -> None:
    with (
        development_chain(tmp_path / "dev") as (url, genesis),
        following(tmp_path / "ours", websocket(url), genesis=genesis) as node,
    ):
        wait_for_head_of(node, url)
        ended = run(*command(tmp_path / "ours", websocket(url)))
        assert ended.returncode == 1
        assert [line.startswith("error: ") for line in ended.stderr.splitlines()] == [True]
