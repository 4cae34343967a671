"""The engine of a network, as configured: where it listens, its secret, and the chain that it drives."""

from pathlib import Path

import pytest

from wsnode.demo.genesis import demo_genesis
from wsnode.node.assembly import open_network
from wsnode.node.config import Config, ConfigurationError, EngineConfig, NetworkConfig
from wsnode.node.config_file import read
from wsnode.node.services.engine import engine_limits
from wsnode.server.limits import MIB, Limits


def write(folder: Path, text: str) -> Path:
    path = folder / "wsnode.toml"
    path.write_text(f'[networks.one]\ndata = "data"\n{text}')
    return path


def test_a_file_names_the_engine_of_a_network(tmp_path: Path) -> None:
    text = (
        '[networks.one.engine]\nlisten = "127.0.0.1:9551"\njwt_secret = "jwt.hex"\ngenesis = "first.json"\n'
    )
    engine = read(write(tmp_path, text)).networks["one"].engine
    assert engine is not None
    assert str(engine.address) == "127.0.0.1:9551"
    assert (engine.jwt_secret, engine.genesis) == (str(tmp_path / "jwt.hex"), str(tmp_path / "first.json"))
    usual = read(write(tmp_path, "[networks.one.engine]\n")).networks["one"].engine
    assert usual is not None
    assert (str(usual.address), usual.jwt_secret, usual.genesis) == ("127.0.0.1:8551", None, None)
    assert read(write(tmp_path, "")).networks["one"].engine is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[networks.one.engine]\nlisten = "8551x"\n', r"networks\.one\.engine\.listen: .*has no port"),
        ("[networks.one.engine]\njwt = 1\n", r"networks\.one\.engine\.jwt: unknown setting"),
        ("pool = false\n[networks.one.engine]\n", "payloads are built from the pool"),
    ],
)
def test_an_impossible_engine_is_refused_with_its_place(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        read(write(tmp_path, text))


def test_an_engine_begins_a_chain_from_its_genesis_and_goes_on_without_it(tmp_path: Path) -> None:
    genesis = tmp_path / "genesis.json"
    genesis.write_bytes(demo_genesis())
    data = tmp_path / "data"
    for engine in (EngineConfig(genesis=str(genesis)), EngineConfig()):
        told = NetworkConfig(str(data), engine=engine)
        with open_network("one", told, Config(networks={"one": told})) as network:
            (port,) = network.ports
            assert (port.host, port.port, port.network.name) == ("127.0.0.1", 8551, "one engine")
            assert port.network.tokens is not None
            assert "engine_newPayloadV4" in port.network.registry.methods
            assert not any(name.startswith("engine_") for name in network.registry.methods)
            figures = {figure.name: figure.value for figure in network.figures()}
            assert figures["wsnode_waiting_payloads"] == figures["wsnode_blob_bytes"] == 0
    assert len((data / "jwt.hex").read_text().strip()) == 66


def test_what_cannot_be_read_is_said_in_a_line(tmp_path: Path) -> None:
    secret = tmp_path / "jwt.hex"
    secret.write_text("secret")
    genesis = tmp_path / "genesis.json"
    for engine, words in (
        (EngineConfig(genesis=str(genesis)), "No such file"),
        (EngineConfig(genesis=str(genesis), jwt_secret=str(secret)), "hexadecimal digits"),
    ):
        told = NetworkConfig(str(tmp_path / "data"), engine=engine)
        with (
            pytest.raises(ConfigurationError, match=words),
            open_network("one", told, Config(networks={"one": told})),
        ):
            pass
        genesis.write_bytes(demo_genesis())


def test_payloads_and_blobs_pass_the_limits_of_the_port() -> None:
    usual = engine_limits(Limits())
    assert (usual.body_bytes, usual.message_bytes, usual.reply_bytes) == (64 * MIB, 64 * MIB, 256 * MIB)
    assert engine_limits(Limits(body_bytes=128 * MIB)).body_bytes == 128 * MIB
