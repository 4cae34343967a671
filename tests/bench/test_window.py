"""The options of the measurement of a light folder's window."""

import pytest

from bench.upstreams.window import read_options


@pytest.mark.parametrize(
    ("options", "least"), [(["--blocks", "20", "--window", "8"], 32), (["--blocks", "100"], 128)]
)
def test_a_chain_of_which_nothing_would_be_pruned_is_refused(
    options: list[str], least: int, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        read_options(["--geth", "geth", *options])
    assert f"error: --blocks: more than {least}: " in capsys.readouterr().err


def test_a_chain_with_a_final_block_and_more_than_a_window_is_measured() -> None:
    assert read_options(["--geth", "geth", "--blocks", "33", "--window", "8"]).blocks == 33
