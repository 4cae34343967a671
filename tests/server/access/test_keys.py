"""API keys: kept by their hashes, felt at once, and limited alike over WebSocket and HTTP."""

import json
import os
import shutil
import stat
import tempfile
from pathlib import Path

import pytest
import trio
import trio.testing

from tests.memory_transport import Conversation, run, whole
from tests.server.conftest import NUMBER, Gate, OpenSite, Peer, Site, View, registry
from tests.server.http.test_connection import ONE, client
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.jsonrpc.errors import RpcError
from wsnode.jsonrpc.work import Answer, CallTask
from wsnode.server.access.api_keys import Admission, ApiKey, KeyLimits, RateError
from wsnode.server.access.keys import KeyFile, KeyFileError, KeyFileStore, StoredKey


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def admitted(grant: ApiKey, name: str = "number") -> int:
    count = 0
    while count < 10_000:
        try:
            grant.admit(name)
        except RateError:
            return count
        count += 1
    return count


def test_a_key_is_shown_once_and_kept_by_its_hash(tmp_path: Path) -> None:
    file = KeyFile(tmp_path / "data" / "keys.json")
    assert file.read() == []
    key = file.add("bot", KeyLimits(requests_per_second=5))
    assert key not in file.path.read_text()
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    assert [(each.name, each.limits.requests_per_second) for each in file.read()] == [("bot", 5)]
    with pytest.raises(KeyFileError, match="named bot already"):
        file.add("bot")
    file.revoke("bot")
    with pytest.raises(KeyFileError, match="no key named bot"):
        file.revoke("bot")


def test_a_damaged_file_is_reported_and_changes_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = KeyFile(tmp_path / "keys.json")
    key = file.add("bot")
    ring = KeyFileStore(file)
    file.path.write_text("[{")
    assert ring.lookup(key) is not None
    assert "stay in force" in caplog.text
    with pytest.raises(KeyFileError):
        KeyFileStore(file)


class FailingFile(KeyFile):
    """A file of keys that cannot be read for a while, though nothing of it changes."""

    fails = False
    reads = 0

    def read_stored(self) -> list[StoredKey]:
        self.reads += 1
        if self.fails:
            raise KeyFileError(f"{self.path}: Permission denied")
        return super().read_stored()


async def test_a_key_revoked_in_a_file_that_cannot_be_read_yet_ends_once_it_can(
    tmp_path: Path, autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    clock, file = Clock(), FailingFile(tmp_path / "keys.json")
    key = file.add("bot")
    ring = KeyFileStore(file, clock)
    file.revoke("bot")
    file.fails = True
    async with trio.open_nursery() as nursery:
        nursery.start_soon(ring.watch)
        await trio.sleep(10)
        assert ring.lookup(key) is not None
        assert caplog.text.count("Permission denied; the keys read before stay in force") == 1
        clock.now += 60
        await trio.sleep(2)
        assert caplog.text.count("Permission denied") == 2, "it is said again each minute"
        file.fails = False
        await trio.sleep(2)
        assert ring.lookup(key) is None
        nursery.cancel_scope.cancel()
    assert "can be read again" in caplog.text


async def test_a_folder_or_a_file_that_goes_away_revokes_nothing(
    tmp_path: Path, autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    folder, elsewhere = tmp_path / "data", tmp_path / "elsewhere"
    file = KeyFile(folder / "keys.json")
    key = file.add("bot")
    ring = KeyFileStore(file)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(ring.watch)
        folder.rename(elsewhere)
        await trio.sleep(2)
        assert ring.lookup(key) is not None
        assert "No such file or directory; the keys read before stay in force" in caplog.text
        # A path below a file fails in another way, as one below a folder without rights does.
        folder.write_text("")
        await trio.sleep(2)
        assert ring.lookup(key) is not None
        folder.unlink()
        elsewhere.rename(folder)
        await trio.sleep(2)
        file.revoke("bot")
        assert ring.lookup(key) is None
        nursery.cancel_scope.cancel()


def test_a_reload_reads_a_file_that_looks_as_before(tmp_path: Path) -> None:
    file = FailingFile(tmp_path / "keys.json")
    file.add("bot")
    ring = KeyFileStore(file)
    before = file.reads
    ring.reload()
    assert file.reads == before + 1


def test_a_file_written_over_is_read_whatever_times_it_shows(tmp_path: Path) -> None:
    file = KeyFile(tmp_path / "keys.json")
    key = file.add("bot")
    ring, before, stored = KeyFileStore(file), file.path.stat(), file.path.read_text()
    revoked = "[]"
    file.path.write_text(revoked + " " * (len(stored) - len(revoked)))
    os.utime(file.path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (file.path.stat().st_size, file.path.stat().st_ino) == (before.st_size, before.st_ino)
    assert ring.lookup(key) is None


def test_a_change_keeps_the_mode_of_the_file(tmp_path: Path) -> None:
    file = KeyFile(tmp_path / "keys.json")
    file.add("bot")
    file.path.chmod(0o640)
    file.add("other")
    file.revoke("bot")
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o640


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_a_change_by_root_keeps_the_owner_and_a_first_key_is_the_folders_owners(tmp_path: Path) -> None:
    os.chown(tmp_path, 4711, 4712)
    file = KeyFile(tmp_path / "keys.json")
    file.add("bot")
    assert (file.path.stat().st_uid, file.path.stat().st_gid) == (4711, 4712)
    os.chown(file.path, 4713, 4714)
    file.revoke("bot")
    assert (file.path.stat().st_uid, file.path.stat().st_gid) == (4713, 4714)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_user_who_cannot_keep_the_owner_changes_nothing(tmp_path: Path) -> None:
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    try:
        folder.chmod(0o777)
        file = KeyFile(folder / "keys.json")
        file.add("bot")
        file.path.chmod(0o644)
        before = file.path.read_bytes()
        os.seteuid(65534)
        try:
            with pytest.raises(KeyFileError, match="belongs to user 0, group 0: change it as that user"):
                file.revoke("bot")
        finally:
            os.seteuid(0)
        assert file.path.read_bytes() == before
        assert {path.name for path in folder.iterdir()} == {"keys.json", "keys.lock"}
    finally:
        shutil.rmtree(folder)


def test_a_ring_follows_the_file(tmp_path: Path) -> None:
    file = KeyFile(tmp_path / "keys.json")
    ring = KeyFileStore(file)
    key = file.add("bot")
    assert (grant := ring.lookup(key)) is not None
    assert grant.name == "bot"
    assert ring.lookup(key + "x") is None
    assert ring.lookup("\udcff") is None
    file.add("other")
    assert ring.lookup(key) is grant
    file.revoke("bot")
    assert ring.lookup(key) is None
    assert grant.is_revoked


def test_calls_are_charged_against_a_rate_with_a_burst() -> None:
    clock = Clock()
    grant = ApiKey("bot", KeyLimits(requests_per_second=10, burst=25), clock)
    assert admitted(grant) == 25
    clock.now += 0.5
    assert admitted(grant) == 5
    with pytest.raises(RateError) as error:
        grant.admit("number")
    assert error.value.data["allowed_rps"] == 10
    assert error.value.data["backoff_seconds"] == pytest.approx(0.1)
    clock.now += 100
    assert admitted(grant) == 25


def test_methods_have_their_price() -> None:
    clock = Clock()
    grant = ApiKey("bot", KeyLimits(requests_per_second=10, credits={"logs": 4, "dear": 1000}), clock)
    assert admitted(grant, "logs") == 2
    assert admitted(grant, "number") == 2
    assert admitted(grant, "dear") == 0
    clock.now += 1
    assert admitted(grant, "dear") == 1
    clock.now += 1
    assert admitted(grant, "number") == 0
    clock.now += 100
    assert admitted(grant, "number") == 10


def test_only_the_methods_named_may_be_called() -> None:
    grant = ApiKey("bot", KeyLimits(methods=("eth_get*", "number")))
    grant.admit("eth_getLogs")
    grant.admit("number")
    with pytest.raises(Exception, match="not allowed") as error:
        grant.admit("eth_call")
    assert error.value.code == -32601  # type: ignore[attr-defined]


def test_unknown_methods_and_those_not_allowed_are_charged() -> None:
    grant = ApiKey("bot", KeyLimits(methods=("eth_*",), requests_per_second=2), Clock())
    with pytest.raises(RpcError, match="not allowed"):
        grant.admit("net_version")
    grant.admit("eth_guess")
    with pytest.raises(RateError):
        grant.admit("net_version")


def test_only_the_contracts_named_may_be_named() -> None:
    grant = ApiKey("bot", KeyLimits(contracts=("0x" + "0A" * 20, "0x7")), Clock())
    grant.check_contracts([0x7, int("0a" * 20, 16)])
    for others in (None, [0x7, 0x8]):
        with pytest.raises(RpcError, match="contract"):
            grant.check_contracts(others)
    grant.change(KeyLimits())
    grant.check_contracts(None)


def test_a_contract_that_is_none_makes_a_file_unreadable(tmp_path: Path) -> None:
    file = KeyFile(tmp_path / "keys.json")
    file.add("bot", KeyLimits(contracts=("vitalik.eth",)))
    with pytest.raises(KeyFileError, match="contracts"):
        file.read()


def test_other_limits_are_in_force_at_once() -> None:
    clock = Clock()
    grant = ApiKey("bot", KeyLimits(), clock)
    assert admitted(grant) == 10_000
    grant.change(KeyLimits(requests_per_second=3))
    assert admitted(grant) == 3


async def test_a_request_needs_a_known_key(open_site: OpenSite, tmp_path: Path) -> None:
    file = KeyFile(tmp_path / "keys.json")
    key = file.add("bot")
    async with open_site(keys=KeyFileStore(file)) as site:
        http = client(site)
        assert (await http.ask(target=f"/v3/{key}")).json["result"] == "0x1"
        for target, status in ((f"/v3/{key}x", 401), ("/v3/", 401), ("/v3", 401), ("/", 404)):
            answer = await client(site).ask(target=target)
            assert (answer.status, answer.json["id"]) == (status, None)
            assert key not in answer.body.decode()
        for path in ("/ws/v3/unknown", "/ws/v3/", "/ws/v3"):
            assert (await Peer(site.connect(), path=path).open()).status_code == 401


async def test_the_rate_is_the_same_over_websocket_and_http(open_site: OpenSite, tmp_path: Path) -> None:
    file = KeyFile(tmp_path / "keys.json")
    key = file.add("bot", KeyLimits(requests_per_second=5))
    clock = Clock()
    async with open_site(keys=KeyFileStore(file, clock)) as site:
        peer = Peer(site.connect(), path=f"/ws/v3/{key}")
        assert (await peer.open()).status_code == 101
        await peer.send(f"[{','.join([NUMBER % 1] * 4)}]")
        assert len(await peer.reply()) == 4
        http = client(site)
        assert (await http.ask(target=f"/v3/{key}")).status == 200
        answer = await http.ask(target=f"/v3/{key}")
        assert answer.status == 429
        assert answer.headers["retry-after"] == "1"
        error = answer.json["error"]
        assert error["code"] == -32005
        assert error["data"].keys() == {"current_rps", "allowed_rps", "backoff_seconds"}
        await peer.call("number")
        assert (await peer.reply())["error"]["code"] == -32005
        clock.now += 0.5
        answer = await http.ask(b"[%b]" % b",".join([ONE] * 3), target=f"/v3/{key}")
        assert answer.status == 200
        assert [each.get("error", {}).get("code") for each in answer.json] == [None, None, -32005]
        clock.now += 1
        await peer.call("number")
        assert (await peer.reply())["result"] == "0x1"


async def test_a_key_may_have_few_connections_and_few_pages(open_site: OpenSite, tmp_path: Path) -> None:
    file = KeyFile(tmp_path / "keys.json")
    key = file.add("page", KeyLimits(connections=1, origins=("https://a.example",)))
    async with open_site(keys=KeyFileStore(file)) as site:
        first = Peer(site.connect(), path=f"/ws/v3/{key}")
        assert (await first.open(Origin="https://a.example")).status_code == 101
        await first.call("number")
        await first.reply()
        second = Peer(site.connect(), path=f"/ws/v3/{key}")
        assert (await second.open()).status_code == 429
        assert (await client(site).ask(target=f"/v3/{key}", Origin="https://b.example")).status == 403
        await first.stream.aclose()
        await trio.testing.wait_all_tasks_blocked()
        third = Peer(site.connect(), path=f"/ws/v3/{key}")
        assert (await third.open(Origin="https://b.example")).status_code == 403
        fourth = Peer(site.connect(), path=f"/ws/v3/{key}")
        assert (await fourth.open()).status_code == 101


class Held(trio.abc.HalfCloseableStream):
    """A stream on which nothing is sent before its gate is opened, as over a busy TLS connection."""

    def __init__(self, stream: trio.abc.HalfCloseableStream, gate: trio.Event) -> None:
        self.stream = stream
        self.gate = gate

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        await self.gate.wait()
        await self.stream.send_all(data)

    async def wait_send_all_might_not_block(self) -> None:
        await self.gate.wait()

    async def receive_some(self, max_bytes: int | None = None) -> bytes | bytearray:
        return await self.stream.receive_some(max_bytes)

    async def send_eof(self) -> None:
        await self.stream.send_eof()

    async def aclose(self) -> None:
        await self.stream.aclose()


def open_held(site: Site, gate: trio.Event) -> trio.abc.HalfCloseableStream:
    """Connect to the site; nothing that it says comes through before the gate is opened."""
    ours, theirs = trio.testing.memory_stream_pair()
    site.nursery.start_soon(site.server.serve_stream, Held(theirs, gate))
    return ours


async def test_handshakes_at_one_time_are_as_few_as_connections_may_be(
    open_site: OpenSite, tmp_path: Path
) -> None:
    file, gate, answers = KeyFile(tmp_path / "keys.json"), trio.Event(), list[int]()
    key = file.add("one", KeyLimits(connections=2))

    async with open_site(keys=KeyFileStore(file)) as site:

        async def shake() -> None:
            peer = Peer(open_held(site, gate), path=f"/ws/v3/{key}")
            answers.append((await peer.open()).status_code)

        for _ in range(10):
            site.nursery.start_soon(shake)
        await trio.testing.wait_all_tasks_blocked()
        gate.set()
        await trio.testing.wait_all_tasks_blocked()
        assert sorted(answers) == [101] * 2 + [429] * 8


async def test_a_key_that_is_revoked_during_a_handshake_ends_the_connection(
    open_site: OpenSite, tmp_path: Path
) -> None:
    file, gate = KeyFile(tmp_path / "keys.json"), trio.Event()
    key = file.add("bot")
    ring = KeyFileStore(file)
    async with open_site(keys=ring) as site:
        peer, answers = Peer(open_held(site, gate), path=f"/ws/v3/{key}"), list[int]()

        async def shake() -> None:
            answers.append((await peer.open()).status_code)

        site.nursery.start_soon(shake)
        await trio.testing.wait_all_tasks_blocked()
        file.revoke("bot")
        ring.refresh()
        gate.set()
        await trio.testing.wait_all_tasks_blocked()
        assert answers == [101]
        with trio.fail_after(60):
            assert await peer.close_code() == 1008


async def test_a_revoked_key_ends_its_connections(
    open_site: OpenSite, tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    file = KeyFile(tmp_path / "keys.json")
    key, other = file.add("bot"), file.add("other")
    ring = KeyFileStore(file)
    async with open_site(keys=ring) as site:
        site.nursery.start_soon(ring.watch)
        peers = [Peer(site.connect(), path=f"/ws/v3/{each}") for each in (key, other)]
        for peer in peers:
            assert (await peer.open()).status_code == 101
        file.revoke("bot")
        assert await peers[0].close_code() == 1008
        await peers[1].call("number")
        assert (await peers[1].reply())["result"] == "0x1"


async def test_every_limit_in_force_is_told(open_site: OpenSite, tmp_path: Path) -> None:
    file = KeyFile(tmp_path / "keys.json")
    key = file.add("bot", KeyLimits(requests_per_second=5))
    ask = b'{"jsonrpc":"2.0","id":1,"method":"rpc_limits"}'
    async with open_site(keys=KeyFileStore(file)) as site:
        result = (await client(site).ask(ask, target=f"/v3/{key}")).json["result"]
        assert result["server"]["batch_items"] == 1000
        assert result["key"] == {"name": "bot", "requests_per_second": 5}
        assert result["usage"] == {"current_rps": 1, "connections": 0, "subscriptions": 0}
        assert key not in json.dumps(result)
    async with open_site() as site:
        assert "key" not in (await client(site).ask(ask)).json["result"]


def finished(answer: Answer) -> bytes:
    return whole(run(answer) if isinstance(answer, CallTask) else answer)


def dispatcher() -> Dispatcher:
    return Dispatcher(registry(), lambda _caller: View(Gate()), clock=lambda: 0.0)


NO_CALLS = [
    pytest.param(b"{", 1, id="no JSON"),
    pytest.param(b"1", 1, id="no object"),
    pytest.param(b"[]", 1, id="an empty batch"),
    pytest.param(b"[%b]" % b",".join([b"1"] * 5), 5, id="items that are no objects"),
    pytest.param(b'[{"jsonrpc":"2.0"},{"jsonrpc":"2.0","id":1}]', 2, id="items without a method"),
    pytest.param(b'[{"jsonrpc":"2.0","method":5,"id":1}]', 1, id="a method that is no text"),
    pytest.param(b'[{"jsonrpc":"2.0","method":"","id":1}]', 1, id="a method without a name"),
    pytest.param(b"[%b]" % b",".join([b"1"] * 2000), 1, id="too large a batch"),
    pytest.param(b"[%b]" % b",".join([b'"%b"' % (b"x" * 300)] * 900), 900, id="a long batch"),
    pytest.param(b"[" + b" " * 300_000, 1, id="a long text that is no JSON"),
    pytest.param(b'{"jsonrpc":"2.0","id":1,"x":"%b"}' % (b"x" * 300_000), 1, id="a long request"),
]


@pytest.mark.parametrize(("message", "cost"), NO_CALLS)
def test_what_is_no_call_is_charged_as_one(message: bytes, cost: int) -> None:
    grant = ApiKey("bot", KeyLimits(requests_per_second=1, burst=1000, methods=("number",)), Clock())
    for gate in (grant, Admission(grant)):
        session = Conversation(dispatcher(), None, gate)
        before = grant.usage()["current_rps"]
        reply = finished(session.receive(message))
        assert reply.count(b'"error"') == cost or cost == 900
        assert grant.usage()["current_rps"] - before == cost
    assert admitted(grant) == max(1000 - 2 * cost, 0)


def test_beyond_the_rate_it_is_refused_as_calls_are() -> None:
    grant = ApiKey("bot", KeyLimits(requests_per_second=1, burst=3), Clock())
    admission = Admission(grant)
    replies = json.loads(finished(Conversation(dispatcher(), None, admission).receive(b"[1,1,1,1]")))
    assert [reply["error"]["code"] for reply in replies] == [-32600] * 3 + [-32005]
    assert admission.retry_after is None
    admission = Admission(grant)
    reply = json.loads(finished(Conversation(dispatcher(), None, admission).receive(b"{")))
    assert (reply["id"], reply["error"]["message"]) == (None, "request rate limit exceeded")
    assert admission.retry_after == 1
