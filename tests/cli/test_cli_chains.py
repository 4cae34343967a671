"""`wsnode chains`, and the chains that `wsnode follow` takes by name."""

from pathlib import Path

import pytest

from tests.node_process import run
from tests.vector_files import CHECKOUT
from wsnode.ethereum.networks.table import NETWORKS, page_section
from wsnode.ethereum.storage.folder_kind import FolderKind
from wsnode.node.config import ConfigurationError, FollowConfig
from wsnode.node.config_line import follow_config, follow_starknet_config
from wsnode.sync.starknet.settings import STARKNET_CHAINS, starknet_chain

PAGE = (CHECKOUT / "docs/reference/chains.md").read_text()
BEGIN = "<!-- `wsnode chains --markdown` prints the section up to the next mark. -->\n\n"
END = "\n<!-- end of `wsnode chains --markdown` -->"
UPSTREAM = ("--upstream", "ws://127.0.0.1:1")


def follow(folder: Path, *options: str) -> tuple[int, str]:
    """Return the exit status of `wsnode follow` with options, and what it says."""
    ended = run("follow", "--data", str(folder), *UPSTREAM, *options)
    return ended.returncode, ended.stderr


def test_every_chain_is_listed_with_its_id_and_what_is_not_checked() -> None:
    ended = run("chains")
    assert ended.returncode == 0
    for network in NETWORKS:
        (line,) = [
            each
            for each in ended.stdout.splitlines()
            if each.startswith((f"{network.name} ", f"{network.name},"))
        ]
        assert f" {network.chain_id} " in line
        assert f" {network.family} " in line
        for note in network.notes:
            assert f"{network.name}: {note}" in ended.stdout


def test_starknet_chains_are_listed_by_the_names_that_follow_takes() -> None:
    lines = [" ".join(line.split()) for line in run("chains").stdout.splitlines()]
    for name, chain_id in (*STARKNET_CHAINS.items(), ("starknet:CHAIN_ID", "CHAIN_ID")):
        assert f"{name} {chain_id} starknet yes yes no" in lines
        assert starknet_chain(name) == name


def test_no_two_chains_have_a_name_or_an_id_in_common() -> None:
    names = [name for network in NETWORKS for name in network.names]
    assert len(set(names)) == len(names)
    assert len({network.chain_id for network in NETWORKS}) == len(NETWORKS)


@pytest.mark.parametrize("name", ["starknet-mainnet", "starknets", "starknet:", "starknet:0x"])
def test_a_name_of_no_starknet_chain_is_refused_alike_on_a_command_line_and_in_a_file(
    tmp_path: Path, name: str
) -> None:
    with pytest.raises(ConfigurationError) as refused:
        follow_starknet_config(name, ("ws://127.0.0.1:1",), None)
    status, words = follow(tmp_path, "--chain", name)
    assert status == 2
    assert str(refused.value).removeprefix("chain: ") in " ".join(words.split())


def test_an_unknown_chain_is_wrong_usage_and_the_known_ones_are_named(tmp_path: Path) -> None:
    status, words = follow(tmp_path, "--chain", "marsnet")
    assert status == 2
    assert "no chain is called marsnet; known are mainnet, sepolia, hoodi, gnosis" in words


@pytest.mark.slow
def test_a_chain_whose_blocks_are_not_executed_is_not_followed_in_full(tmp_path: Path) -> None:
    status, words = follow(tmp_path, "--chain", "xdai", "--full")
    assert status == 1
    assert "gnosis cannot be followed with --full: wsnode does not execute its blocks" in words
    assert len(words.splitlines()) == 1


def test_a_named_chain_is_light_unless_it_is_to_be_full() -> None:
    def kind_of(**settings: object) -> bool:
        return follow_config(
            ("ws://127.0.0.1:1",), None, accept_finalized_reorg=False, **settings
        ).kind.is_light

    assert kind_of(chain="gnosis")
    assert kind_of(chain="mainnet")
    assert not kind_of(chain="mainnet", full=True)
    assert not kind_of()
    assert kind_of(light=True)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"light": True, "full": True}, "light and full exclude each other"),
        ({"chain": "marsnet"}, "no chain is called marsnet"),
        ({"checkpoint": "0x" + "11" * 32}, "checkpoint needs a light folder or a proved head"),
        ({"chain": "mainnet", "full": True, "window": 5}, "a full folder keeps 64 blocks or more"),
        ({"window": "2h"}, "window: 2h: a window by time needs a light folder; name a number of blocks"),
        ({"light": True, "window": "0h"}, "0h|matching regex"),
        ({"light": True, "window": "2 hours"}, "matching regex"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(settings: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        follow_config(("ws://127.0.0.1:1",), None, accept_finalized_reorg=False, **settings)


@pytest.mark.parametrize(
    ("window", "kind"),
    [
        ("90s", FolderKind(1, is_light=True, window_seconds=90)),
        ("90m", FolderKind(1, is_light=True, window_seconds=5_400)),
        ("2h", FolderKind(1, is_light=True, window_seconds=7_200)),
        ("3d", FolderKind(1, is_light=True, window_seconds=259_200)),
        (500, FolderKind(500, is_light=True)),
        (None, FolderKind(7_200, is_light=True, window_seconds=7_200, is_usual=True)),
    ],
)
def test_a_window_is_a_number_of_blocks_or_a_time(window: int | str | None, kind: FolderKind) -> None:
    assert FollowConfig(("ws://127.0.0.1:1",), light=True, window=window).kind == kind


@pytest.mark.slow
@pytest.mark.parametrize("window", ["2", "2h"])
def test_the_command_line_takes_both(window: str, tmp_path: Path) -> None:
    # The upstream is refused first, so that nothing is followed.
    status, words = follow(tmp_path, "--chain", "base", "--window", window, "--agree", "2")
    assert (status, "agree: 2 of 1 upstreams cannot agree" in words) == (1, True)


@pytest.mark.slow
@pytest.mark.parametrize("window", ["0", "2w", "1.5h", "-3", "h", "9" * 20])
def test_a_window_that_is_neither_is_refused(window: str, tmp_path: Path) -> None:
    status, words = follow(tmp_path, "--chain", "base", "--window", window)
    assert status == 2
    assert "is neither a number of blocks nor a time such as 90m, 2h or 1d" in words


def test_aliases_are_settings_too() -> None:
    assert FollowConfig(("ws://127.0.0.1:1",), chain="bnb").is_light


def test_the_page_has_the_table_as_it_is() -> None:
    _, _, rest = PAGE.partition(BEGIN)
    section, mark, _ = rest.partition(END)
    assert mark
    assert section == page_section(NETWORKS), (
        "put what `wsnode chains --markdown` prints into docs/reference/chains.md"
    )


def test_the_command_prints_the_section() -> None:
    ended = run("chains", "--markdown")
    assert ended.returncode == 0
    assert ended.stdout == page_section(NETWORKS)


def test_each_limit_of_a_chain_is_on_the_page() -> None:
    for network in NETWORKS:
        for limit in network.limits:
            assert limit in PAGE, (network.name, limit)
