from pathlib import Path

import pytest

from wsnode.node.config_check import hindrances, served
from wsnode.node.config_file import read

SECRET = "0x" + "11" * 32


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "one" / "eth").mkdir(parents=True)
    (tmp_path / "genesis.json").write_text("{}")
    return tmp_path / "wsnode.toml"


def written(file: Path, text: str) -> Path:
    file.write_text(text)
    return file


def test_a_sound_configuration_has_no_hindrance_and_says_what_is_served(file: Path) -> None:
    config = read(
        written(
            file,
            """
            listen = "127.0.0.1:1000"
            [metrics]
            listen = "127.0.0.1:1001"
            [networks.main]
            data = "one"
            hosts = ["a.example"]
            [networks.new]
            data = "two"
            hosts = ["b.example"]
            follow = {upstreams = ["ws://127.0.0.1:1"]}
            engine = {listen = "127.0.0.1:1002", genesis = "genesis.json", jwt_secret = "jwt.hex"}
            """,
        )
    )
    assert list(hindrances(config)) == []
    folder = file.parent
    assert list(served(config)) == [
        "127.0.0.1:1000: keys",
        "127.0.0.1:1001: metrics",
        f"main: {folder / 'one'}, served as other processes write it, for a.example",
        f"new: {folder / 'two'}, follows 1 upstreams, driven at 127.0.0.1:1002, for b.example",
    ]
    assert not (folder / "jwt.hex").exists()
    assert not (folder / "two").exists()


def test_each_hindrance_is_a_line(file: Path) -> None:
    folder = file.parent
    (folder / "jwt.hex").write_text("short")
    config = read(
        written(
            file,
            """
            listen = "127.0.0.1:1000"
            tls_cert = "none.pem"
            tls_key = "none.pem"
            [metrics]
            listen = "127.0.0.1:1000"
            [networks.main]
            data = "three"
            hosts = ["a.example"]
            [networks.new]
            data = "two"
            hosts = ["b.example"]
            engine = {listen = "127.0.0.1:1000", genesis = "none.json", jwt_secret = "jwt.hex"}
            """,
        )
    )
    pem = folder / "none.pem"
    assert list(hindrances(config)) == [
        "metrics.listen: 127.0.0.1:1000 is that of listen already",
        "networks.new.engine.listen: 127.0.0.1:1000 is that of listen already",
        f"tls_cert {pem}, tls_key {pem}: [Errno 2] No such file or directory",
        f"networks.main: {folder / 'three'} holds no chain: `wsnode import` makes one",
        f"networks.new: engine.genesis: {folder / 'none.json'}: No such file or directory",
        f"networks.new: engine.jwt_secret: {folder / 'jwt.hex'}: a secret is 64 hexadecimal digits, "
        "with or without 0x",
    ]


def test_ports_that_the_system_chooses_are_never_the_same(file: Path) -> None:
    text = '[metrics]\nlisten = "127.0.0.1:0"\n[networks.main]\ndata = "one"\n'
    assert list(hindrances(read(written(file, 'listen = "127.0.0.1:0"\n' + text)))) == []
