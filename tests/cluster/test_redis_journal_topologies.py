"""The journal in a Redis Cluster, behind Sentinels, and over TLS."""

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import trio

from tests.cluster.drawn import GENESIS, records
from tests.cluster.redis_server import REDIS, STARTING_SECONDS, needs_redis
from wsnode.cluster.address import JournalAddress
from wsnode.cluster.journal import JournalUnavailableError
from wsnode.cluster.pool.redis_pool import RedisPoolStream
from wsnode.cluster.pool.stream import PoolChange, PublishedState, RecordedChange
from wsnode.cluster.redis_journal import open_journal
from wsnode.cluster.shared_rates import KeySpending
from wsnode.ethereum.live.filter_store import FilterQuota, StoredFilter

pytestmark = [needs_redis, pytest.mark.slow]


@pytest.fixture
def ports() -> Iterator[list[int]]:
    """Yield ports for servers, which nothing else takes meanwhile."""
    with ExitStack() as stack:
        kept = [stack.enter_context(socket.socket()) for _ in range(2)]
        for each in kept:
            each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            each.bind(("127.0.0.1", 0))
        yield [each.getsockname()[1] for each in kept]


@contextmanager
def server(folder: Path, port: int, *options: str) -> Iterator[None]:
    """Run a Redis until the end; the options have it listen to a port."""
    assert REDIS is not None
    folder.mkdir(exist_ok=True)
    command = (REDIS, *options, "--dir", str(folder), "--save", "", "--bind", "127.0.0.1")
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        until = time.monotonic() + STARTING_SECONDS
        while not is_there(port):
            assert process.poll() is None, (folder / "log").read_text()
            assert time.monotonic() < until
        yield
    finally:
        process.kill()
        process.wait()


def is_there(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port)):
            return True
    except OSError:
        return False


def ask(port: int, command: str) -> str:
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(f"{command}\r\n".encode())
        return client.recv(1 << 16).decode()


async def require_usable(url: str) -> None:
    """Append to a journal and read it, once it is there."""
    address = JournalAddress.parse(url)
    with trio.fail_after(STARTING_SECONDS):
        while not await is_open(address):  # noqa: ASYNC110 - a server has no event to set
            await trio.sleep(0.1)
    async with open_journal(address, GENESIS) as journal:
        lease = await journal.claim("one")
        made = records(lease, [1, 2])
        for each in made:
            await journal.append(lease, each)
        assert [each.id for each in await journal.read(None, 1)] == [each.id for each in made]
        assert await journal.renew(lease) == made[-1].id
        spent = await journal.exchange([KeySpending("key", 9.0, 0.0, 9.0)])
        assert spent.keys() == {"key"}
        kept, room = StoredFilter(b"wish", b"here"), FilterQuota("bot", 1, 9, 9, 9)
        await journal.add_filter("0x1", kept, 99.0, room)
        assert await journal.move_filter("0x1", b"here", b"there", 99.0)
        assert await journal.remove_filter("0x1")
        pool = RedisPoolStream(journal)
        said = RecordedChange(made[-1].id, PoolChange(None, True, [b"signed"], []))
        await pool.append(lease, PublishedState(None), said, {b"name": b"signed"}, [])
        assert await pool.read(None, 1) == [said]
        assert [part async for part in pool.contents()] == [[b"signed"]]
        assert await pool.find([b"name"]) == [b"signed"]


async def is_open(address: JournalAddress) -> bool:
    """Return whether a journal can be written."""
    try:
        async with open_journal(address, GENESIS) as journal:
            await journal.claim("one")
    except JournalUnavailableError:
        return False
    return True


async def test_a_journal_is_in_one_slot_of_a_cluster(tmp_path: Path, ports: list[int]) -> None:
    port, bus = ports
    told = ("--port", str(port), "--cluster-port", str(bus), "--cluster-enabled", "yes")
    with server(tmp_path / "node", port, *told):
        assert ask(port, "CLUSTER ADDSLOTSRANGE 0 16383") == "+OK\r\n"
        await require_usable(f"redis+cluster://127.0.0.1:{port}")


async def test_a_journal_is_found_by_sentinels(tmp_path: Path, ports: list[int]) -> None:
    port, sentinel = ports
    told = tmp_path / "sentinel.conf"
    told.write_text(f"sentinel monitor main 127.0.0.1 {port} 1\n")
    with (
        server(tmp_path / "one", port, "--port", str(port)),
        server(tmp_path / "two", sentinel, str(told), "--sentinel", "--port", str(sentinel)),
    ):
        await require_usable(f"redis+sentinel://127.0.0.1:{sentinel}/main")


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """Return the certificate of this machine's address, with its key beside it in `key.pem`."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("there is no openssl on the path")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    made = ("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-days", "2")
    names = ("-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate))
    subprocess.run((openssl, *made, *names), check=True, capture_output=True)
    return certificate


async def test_a_journal_is_reached_over_tls_by_its_certificate(certificate: Path, ports: list[int]) -> None:
    port, folder = ports[0], certificate.parent
    tls = ("--tls-port", str(port), "--port", "0", "--tls-auth-clients", "no")
    files = ("--tls-cert-file", str(certificate), "--tls-key-file", str(folder / "key.pem"))
    with server(folder, port, *tls, *files, "--requirepass", "SECRET"):
        place = f"127.0.0.1:{port}"
        await require_usable(f"rediss://:SECRET@{place}/0?cafile={certificate}")
        for url in (f"rediss://:SECRET@{place}", f"rediss://:WRONG@{place}?cafile={certificate}"):
            with pytest.raises(JournalUnavailableError) as raised:
                async with open_journal(JournalAddress.parse(url), GENESIS) as journal:
                    await journal.tip()
            assert "SECRET" not in str(raised.value)
            assert "WRONG" not in str(raised.value)
