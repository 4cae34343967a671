"""What a configuration says of a Starknet chain's upstreams, and what it cannot say."""

from pathlib import Path

import pytest

from tests.node_process import run
from tests.starknet.branches import branch, write_dump
from wsnode.node.config import (
    Config,
    ConfigurationError,
    NetworkConfig,
    require_one_writer,
)
from wsnode.node.config_file import examine
from wsnode.node.config_line import follow_starknet_config
from wsnode.starknet.chain import StarknetChain
from wsnode.sync.starknet.settings import FollowStarknetConfig

URLS = ("ws://127.0.0.1:1/rpc/v0_10", "http://127.0.0.1:2", "ws://127.0.0.1:3")


@pytest.mark.parametrize(
    ("chain", "chain_id", "kept"),
    [
        ("starknet", "SN_MAIN", 20_000),
        ("starknet-sepolia", "SN_SEPOLIA", 20_000),
        ("starknet:SN_TEST", "SN_TEST", None),
        ("starknet:0x534e5f54455354", "SN_TEST", None),
    ],
)
def test_public_networks_are_light_unless_said(chain: str, chain_id: str, kept: int | None) -> None:
    config = follow_starknet_config(chain, URLS[:1], None)
    assert (config.chain_id, config.kept) == (chain_id, kept)


def test_an_id_in_hex_is_the_setting_with_its_text() -> None:
    in_hex = FollowStarknetConfig("starknet:0x534e5f5345504f4c4941", URLS)
    assert in_hex == FollowStarknetConfig("starknet:SN_SEPOLIA", URLS)
    assert in_hex.chain == "starknet:SN_SEPOLIA"


def test_what_a_folder_is_can_be_said() -> None:
    assert follow_starknet_config("starknet", URLS[:1], None, full=True).kept is None
    assert follow_starknet_config("starknet:X", URLS[:1], None, light=True, window=5).kept == 5
    assert follow_starknet_config("starknet:X", URLS[:1], None).kept is None
    config = follow_starknet_config("starknet", URLS[:1], None, full=True, window=128)
    assert (config.kept, config.is_light) == (128, False)


def test_of_three_upstreams_two_must_agree() -> None:
    assert FollowStarknetConfig("starknet", URLS[:2]).agreeing == 1
    assert FollowStarknetConfig("starknet", URLS).agreeing == 2


@pytest.mark.parametrize(
    ("chain", "urls", "settings", "words"),
    [
        ("mainnet", URLS, {}, "chain: it is starknet, starknet-sepolia or starknet:CHAIN_ID, got 'mainnet'"),
        ("starknet\n", URLS, {}, "chain: it is starknet, starknet-sepolia or starknet:CHAIN_ID"),
        ("starknet:", URLS, {}, "chain: a chain's id is 1 to 31 printable ASCII characters"),
        ("starknet:" + "X" * 32, URLS, {}, "chain: a chain's id is 1 to 31"),
        ("starknet:0x0a", URLS, {}, "chain: a chain's id is 1 to 31 .* got '0x0a'"),
        ("starknet", (), {}, "length >= 1"),
        ("starknet", URLS[:1] * 2, {}, "an upstream is named twice"),
        ("starknet", ("ftp://a",), {}, "upstream 1: ftp:// is none of"),
        ("starknet", URLS, {"agree": 4}, "agree: 4 of 3 upstreams cannot agree"),
        ("starknet", URLS, {"light": True, "full": True}, "light and full exclude each other"),
        ("starknet", URLS, {"full": True, "window": 127}, "a full folder keeps 128 blocks at least"),
        ("starknet:X", URLS, {"checkpoint": "0x1"}, "a checkpoint is of light folders"),
        ("starknet", URLS, {"checkpoint": "1"}, "matching regex"),
        ("starknet", URLS, {"window": 0}, "int` >= 1"),
        ("starknet", URLS, {"window": "2h"}, "Expected `int"),
    ],
)
def test_what_is_impossible_is_refused(
    chain: str, urls: tuple[str, ...], settings: dict[str, object], words: str
) -> None:
    agree = settings.pop("agree", None)
    with pytest.raises(ConfigurationError, match=words):
        follow_starknet_config(chain, urls, agree, **settings)  # type: ignore[arg-type]


def test_a_file_names_it_beside_an_ethereum_chain(tmp_path: Path) -> None:
    file = tmp_path / "wsnode.toml"
    file.write_text(
        '[networks.main]\ndata = "main"\n'
        '[networks.main.follow]\nchain = "mainnet"\nupstreams = ["ws://127.0.0.1:4"]\n'
        '[networks.main.follow_starknet]\nchain = "starknet"\nupstreams = ["ws://127.0.0.1:5"]\n'
    )
    report = examine(file)
    assert (report.mistakes, report.config is None) == ([], False)
    file.write_text(file.read_text() + "widow = 5\n")
    assert "follow_starknet.widow" in examine(file).mistakes[0]


def test_one_process_follows_and_serves() -> None:
    followed = FollowStarknetConfig("starknet", URLS)
    config = Config(networks={"main": NetworkConfig("main", follow_starknet=followed)}, workers=2)
    with pytest.raises(ConfigurationError) as refused:
        require_one_writer(config)
    assert str(refused.value) == (
        "workers: networks.main.follow_starknet: one process follows the chain and serves it; "
        "for more processes start nodes that follow this one"
    )


@pytest.mark.slow
def test_options_of_other_chains_are_wrong_usage(tmp_path: Path) -> None:
    options = (
        "--chain",
        "starknet",
        "--upstream",
        URLS[0],
        "--beacon",
        "http://127.0.0.1:9",
        "--journal",
        "redis://a",
    )
    ended = run("follow", "--data", str(tmp_path / "new"), *options)
    assert (ended.returncode, "--beacon, --journal: not of Starknet chains" in ended.stderr) == (2, True)
    assert not (tmp_path / "new").exists()


@pytest.mark.slow
@pytest.mark.parametrize("command", ["follow", "import"])
def test_what_is_no_chain_id_is_wrong_usage(command: str, tmp_path: Path) -> None:
    new = tmp_path / "new"
    ended = (
        run("follow", "--data", str(new), "--chain", "starknet:0xff", "--upstream", URLS[0])
        if command == "follow"
        else run("import", "alt", "--data", str(new), str(tmp_path), "--chain-id", "0xff")
    )
    assert (ended.returncode, new.exists()) == (2, False)
    words = "a chain's id is 1 to 31 printable ASCII characters other than space, or the same in hex, got"
    assert f"{words} '0xff'" in ended.stderr


@pytest.mark.slow
def test_an_import_stores_the_text_of_an_id_in_hex(tmp_path: Path) -> None:
    dump = write_dump(tmp_path / "blocks.jsonl", branch([[1]]))
    ended = run("import", "alt", "--data", str(tmp_path / "new"), str(dump), "--chain-id", "0x534E5F54455354")
    assert ended.returncode == 0, ended.stderr
    with StarknetChain.open(tmp_path / "new", writer=False) as chain, chain.snapshot() as view:
        assert view.chain_id == "SN_TEST"
