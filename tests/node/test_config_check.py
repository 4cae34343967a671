from pathlib import Path

import pytest

from tests.node_process import run
from wsnode.node.config_check import hindrances, served
from wsnode.node.config_file import examine, read

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
        "metrics.listen: 127.0.0.1:1000 is the address of listen already",
        "networks.new.engine.listen: 127.0.0.1:1000 is the address of listen already",
        f"tls_cert {pem}, tls_key {pem}: [Errno 2] No such file or directory",
        f"networks.main: {folder / 'three'} holds no chain: `wsnode import` makes one",
        f"networks.new: engine.genesis: {folder / 'none.json'}: No such file or directory",
        f"networks.new: engine.jwt_secret: {folder / 'jwt.hex'}: a secret is 64 hexadecimal digits, "
        "with or without 0x",
    ]


def test_ports_that_the_system_chooses_are_never_the_same(file: Path) -> None:
    text = '[metrics]\nlisten = "127.0.0.1:0"\n[networks.main]\ndata = "one"\n'
    assert list(hindrances(read(written(file, 'listen = "127.0.0.1:0"\n' + text)))) == []


MANY = """\
listen = "nowhere"
lissten = 1
workers = "many"
slow_subscriber = "drop"
tls_cert = "none.pem"
tls_key = "none.pem"
[limits]
calls = "all"
no_such = 1
[metrics]
listen = "[::1"
[networks.main]
data = 5
hosts = ["a.example", 7]
gas_limit = 1
[networks.new]
data = "two"
follow = {upstreams = ["ftp://127.0.0.1"], agree = 0}
[networks."a.b"]
data = "three"
hosts = ["b.example"]
[networks.last]
data = "one"
pool = false
engine = {listen = "x", genesis = "none.json"}
[networks.lost]
hosts = ["b.example"]
"""


@pytest.mark.slow
def test_every_mistake_is_a_line(file: Path) -> None:
    written(file, MANY)
    ended = run("config", "check", str(file))
    assert (ended.returncode, ended.stdout) == (1, "")
    folder = file.parent
    lines = ended.stderr.splitlines()
    assert all(line.startswith(f"error: {file}: ") for line in lines)
    begin = [
        "line 2: lissten: unknown setting",
        "line 9: limits.no_such: unknown setting",
        "networks.main.data: Expected `str`, got `int`",
        "networks.main.hosts[1]: Expected `str`, got `int`",
        "networks.main.gas_limit: Expected `int` >= ",
        "networks.new.follow.agree: Expected `int` >= 1",
        "networks.new.follow: upstream 1: ",
        "networks.lost: Object missing required field `data`",
        "workers: Expected `int`, got `str`",
        "slow_subscriber: Invalid enum value 'drop'",
        "limits.calls: Expected `int`, got `str`",
        "networks.new.hosts: needed where there are several networks",
        "networks.last.hosts: needed where there are several networks",
        "listen: cannot listen on 'nowhere'",
        "metrics.listen: cannot listen on '[::1'",
        "networks.last.engine: payloads are built from the pool",
        "networks.last.engine.listen: cannot listen on 'x'",
        f"tls_cert {folder / 'none.pem'}, tls_key {folder / 'none.pem'}: ",
        f"networks.a.b: {folder / 'three'} holds no chain",
    ]
    told = [line.removeprefix(f"error: {file}: ") for line in lines]
    assert [line[: len(start)] for line, start in zip(told, begin, strict=True)] == begin

    # A node that starts says the first one.
    ended = run("serve", "--config", str(file))
    assert (ended.returncode, ended.stderr.splitlines()) == (1, lines[:1])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "networks: at least one is needed"),
        ("networks = 5", "networks: Expected `object`, got `int`"),
        ("[networks.one]", "networks.one: Object missing required field `data`"),
        ("networks = [", "Invalid value (at end of document)"),
    ],
)
def test_a_file_without_a_network_has_one_mistake(file: Path, text: str, words: str) -> None:
    (mistake,) = examine(written(file, text)).mistakes
    assert mistake.startswith(f"{file}: {words}")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('tls_cert = "\\u0000"', r"tls_cert: '\x00' has control characters"),
        ('unix_socket = "/run/\\u001b[2J"', r"unix_socket: '/run/\x1b[2J' has control characters"),
        ('origins = ["http://\\u0007"]', r"origins: 'http://\x07' has control characters"),
        ('"\\u001b[31m" = 1', r"\x1b[31m: unknown setting"),
        ('[networks."\\u001b[31m"]\ndata = "x"', r"networks.\x1b[31m: the name has control characters"),
    ],
)
def test_control_characters_are_a_mistake_and_are_never_printed(file: Path, line: str, words: str) -> None:
    file.write_text(f"{line}\n")
    mistakes = examine(file).mistakes
    assert any(words in mistake for mistake in mistakes), mistakes
    assert all(mistake.isprintable() for mistake in mistakes)
