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
