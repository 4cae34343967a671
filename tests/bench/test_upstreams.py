"""The measurements of light folders of other chains: they run, and count what they say."""

import pytest

from tests.bench.test_bench import run


@pytest.mark.slow
def test_each_block_of_a_fast_chain_is_timed() -> None:
    ended = run("upstreams.fast_chains", "--minutes", "0.05", "--chain", "base")
    assert ended.returncode == 0, ended.stderr
    _heads, _line, row = ended.stdout.splitlines()
    name, blocks, p50, p99, most, missing, twice, computed = (
        cell.strip() for cell in row.strip("|").split("|")
    )
    assert (name, blocks, missing, twice) == ("base", "15", "0", "0")
    assert float(p50) <= float(p99) <= float(most)
    assert float(computed) > 0


@pytest.mark.slow
def test_a_days_disk_is_counted_by_block_and_transaction() -> None:
    ended = run("upstreams.window_size", "--blocks", "120", "--base", "10", "--arbitrum", "2")
    assert ended.returncode == 0, ended.stderr
    base, arbitrum = ended.stdout.splitlines()
    assert base.startswith("base: 432000 blocks x ")
    assert " + 10 million transactions x " in base
    assert arbitrum.startswith("arbitrum: 345600 blocks x ")


@pytest.mark.slow
def test_followers_of_a_starknet_chain_get_each_block_once() -> None:
    ended = run("upstreams.starknet", "--blocks", "4", "--block-ms", "300")
    assert ended.returncode == 0, ended.stderr
    _sizes, _heads, _line, *rows = ended.stdout.splitlines()
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    assert [row[0] for row in cells] == ["first", "second"]
    for _name, ready, _requests, blocks, p50, p99, most, missing, twice, *_ in cells:
        assert (blocks, missing, twice) == ("4", "0", "0")
        assert float(ready) > 0
        assert float(p50) <= float(p99) <= float(most)


@pytest.mark.slow
@pytest.mark.parametrize("transport", ["ws", "http"])
def test_pre_confirmed_blocks_of_a_starknet_chain_are_timed(transport: str) -> None:
    ended = run("upstreams.starknet", "pre-confirmed", "--blocks", "2", "--transport", transport)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith(f"pre-confirmed over {transport}, 2 blocks: p50 ")
