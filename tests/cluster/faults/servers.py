"""Redis with replicas and Sentinels, or as a cluster, on machines of their own."""

import hashlib
import logging
import socket
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Protocol

import trio
from coredis import Redis
from coredis.exceptions import RedisError
from coredis.response.types import StreamEntry

from tests.cluster.faults.histories import Entry
from tests.cluster.faults.machines import Machine, Machines
from tests.cluster.faults.programs import Program
from tests.cluster.redis_server import REDIS
from tests.node_process import until
from wsnode.cluster.records import RecordId, UnreadableRecordError, decode_record
from wsnode.ethereum.primitives.values import hexadecimal

# It logs, with a traceback, each server that is away.
logging.getLogger("coredis").setLevel(logging.CRITICAL)

PORT: Final = 6379
BUS_PORT: Final = 16379
SENTINEL_PORT: Final = 26379
SLOTS: Final = 1 << 14
ANSWER_SECONDS: Final = 2.0
LAST_RECORDS: Final = 100
"""As many as a Redis is asked for where it is not known what it had before."""
_SERVER: Final = """
port {port}
bind {address}
protected-mode no
save ""
appendonly no
repl-diskless-sync-delay 0
replica-announce-ip {address}
dir {folder}
"""
_SENTINEL: Final = """
port {port}
bind {address}
protected-mode no
dir {folder}
sentinel announce-ip {address}
sentinel monitor main {first} {first_port} 2
sentinel down-after-milliseconds main 1500
sentinel failover-timeout main 6000
"""
_MEMBER: Final = """
cluster-enabled yes
cluster-port {bus}
cluster-announce-ip {address}
cluster-node-timeout 1500
"""


class Servers(Protocol):
    """A Redis that survives the loss of a server."""

    names: Sequence[str]
    """Of servers, which hold data."""
    helpers: Sequence[str]
    """Of Sentinels."""
    url: str
    programs: dict[str, Program]


class SentinelServers:
    """A primary with two replicas, and three Sentinels."""

    names: Sequence[str] = ("redis-1", "redis-2", "redis-3")
    helpers: Sequence[str] = ("sentinel-1", "sentinel-2", "sentinel-3")

    def __init__(self, machines: Machines, folder: Path) -> None:
        self.programs: dict[str, Program] = {}
        first = machines[self.names[0]].address
        for name in self.names:
            follows = "" if name == self.names[0] else f"replicaof {first} {PORT}\n"
            self._add(machines[name], folder, _SERVER + follows, PORT)
        for name in self.helpers:
            told = _SENTINEL.replace("{first}", first).replace("{first_port}", str(PORT))
            self._add(machines[name], folder, told, SENTINEL_PORT, "--sentinel")
        hosts = ",".join(f"{machines[name].address}:{SENTINEL_PORT}" for name in self.helpers)
        self.url = f"redis+sentinel://{hosts}/main"
        _start(self.programs, machines, self.names, PORT)
        _start(self.programs, machines, self.helpers, SENTINEL_PORT)
        first_sentinel = machines[self.helpers[0]].address
        asked = "SENTINEL get-master-addr-by-name main"
        until("Sentinels know it", lambda: first in ask(first_sentinel, asked, SENTINEL_PORT))

    def _add(self, machine: Machine, folder: Path, text: str, port: int, *options: str) -> None:
        self.programs[machine.name] = configured(machine, folder, text, port, *options)


class ClusterServers:
    """Three primaries, each with a replica."""

    names: Sequence[str] = tuple(f"redis-{number}" for number in range(1, 7))
    helpers: Sequence[str] = ()

    def __init__(self, machines: Machines, folder: Path) -> None:
        self.programs = {
            name: configured(machines[name], folder, _SERVER + _MEMBER, PORT) for name in self.names
        }
        _start(self.programs, machines, self.names, PORT)
        addresses = [machines[name].address for name in self.names]
        self.url = "redis+cluster://" + ",".join(f"{address}:{PORT}" for address in addresses)
        for place, address in enumerate(addresses[:3]):
            begin, end = SLOTS * place // 3, SLOTS * (place + 1) // 3 - 1
            assert "+OK" in ask(address, f"CLUSTER ADDSLOTSRANGE {begin} {end}")
        for address in addresses[1:]:
            assert "+OK" in ask(addresses[0], f"CLUSTER MEET {address} {PORT} {BUS_PORT}")
        for primary, replica in zip(addresses[:3], addresses[3:], strict=True):
            name = ask(primary, "CLUSTER MYID").split()[1]
            until("they have met", lambda: "+OK" in ask(replica, f"CLUSTER REPLICATE {name}"))  # noqa: B023
        until(
            "it is whole", lambda: all("cluster_state:ok" in ask(each, "CLUSTER INFO") for each in addresses)
        )


def configured(machine: Machine, folder: Path, text: str, port: int, *options: str) -> Program:
    """Return a server that is not started, which may write to its configuration."""
    assert REDIS is not None
    (own := folder / machine.name).mkdir()
    file = own / "redis.conf"
    file.write_text(text.format(port=port, address=machine.address, folder=own, bus=BUS_PORT))
    return Program(machine.name, machine, (REDIS, str(file), *options), folder)


def _start(programs: dict[str, Program], machines: Machines, names: Sequence[str], port: int) -> None:
    for name in names:
        programs[name].start()
    for name in names:
        until(f"{name} answers", lambda: "+PONG" in ask(machines[name].address, "PING", port))  # noqa: B023


def ask(address: str, command: str, port: int = PORT) -> str:
    """Return the beginning of the reply to a command, empty if there is none."""
    try:
        with socket.create_connection((address, port), ANSWER_SECONDS) as client:
            client.sendall(f"{command}\r\n".encode())
            return client.recv(1 << 16).decode()
    except OSError:
        return ""


def primary_of(machines: Machines, names: Sequence[str]) -> str:
    """Return the server that takes writes of the journal, or one that may if none has a journal."""
    roles = {name: ask(machines[name].address, "ROLE") for name in names}
    primaries = [name for name in names if "master" in roles[name][:20]] or list(names)
    holding = [name for name in primaries if ":log" in ask(machines[name].address, "KEYS *:log")]
    return (holding or primaries)[0]


def entries_of(address: str, last: Entry | None) -> list[Entry]:
    """Return the records that a Redis has from one of its last on, none if it does not answer."""
    found: list[Entry] = []

    async def read() -> None:
        with trio.move_on_after(ANSWER_SECONDS), suppress(RedisError, OSError, *_UNREADABLE):
            async with Redis(address, PORT) as client:
                for log in await client.keys("*:log"):
                    found.extend(await _read(client, log, last))

    with suppress(BaseExceptionGroup):
        trio.run(read)
    return found


_UNREADABLE: Final = (UnreadableRecordError,)


async def _read(client: "Redis[bytes]", log: bytes, last: Entry | None) -> list[Entry]:
    if last is not None:
        told = await client.xrange(log, start="{}-{}".format(*last.id))
        if (entries := _entries(log, told)) and entries[0].id == last.id:
            return entries
    return _entries(log, reversed(await client.xrevrange(log, count=LAST_RECORDS)))


def _entries(log: bytes, told: Iterable[StreamEntry]) -> list[Entry]:
    genesis = bytes.fromhex(log.decode().partition("{")[2].partition("}")[0].partition(".")[0])
    entries = []
    for entry in told:
        content: bytes = entry.field_values[b"record"]  # type: ignore[assignment]
        record = decode_record(content, genesis)
        previous = None if record.previous is None else _pair(record.previous)
        entries.append(
            Entry(
                _pair(RecordId.parse(_text(entry.identifier))),
                previous,
                hashlib.sha256(content).hexdigest(),
                hexadecimal(record.after.head.hash),
            )
        )
    return entries


def _text(name: str | bytes) -> str:
    return name if isinstance(name, str) else name.decode()


def _pair(name: RecordId) -> tuple[int, int]:
    return name.epoch, name.sequence
