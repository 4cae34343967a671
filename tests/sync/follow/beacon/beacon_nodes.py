"""Beacon nodes in memory, which serve the steps of a vector as a clock goes on."""

import json
from collections.abc import Callable
from typing import Any, Final, TypeVar

import h11
import trio
from trio.testing import memory_stream_pair

from tests.conformance.test_light_client import network_of, unprefixed
from wsnode.sync.follow.beacon.api import BeaconApi
from wsnode.sync.follow.beacon.beacon_node import BeaconNode
from wsnode.sync.follow.beacon.prover import HeadProver
from wsnode.upstream.address import UpstreamAddress

SLOT_SECONDS: Final = 12
LIGHT_CLIENT: Final = "/eth/v1/beacon/light_client/"

Json = dict[str, Any]
T = TypeVar("T")
Answer = tuple[int, bytes]
NONE: Final = (404, b'{"code": 404, "message": "not found"}')


class BeaconAnswers:
    """What a beacon node that has told the steps of a vector up to a slot answers."""

    def __init__(self, vector: Json, told_slot: Callable[[], int]) -> None:
        self._vector = vector
        self._told_slot = told_slot
        self.genesis_time = 0
        self.spec: Json = {}
        """What its configuration says else than the vector."""

    def answer(self, path: str) -> Answer:
        """Return status and body of the answer to a GET."""
        if path == "/eth/v1/beacon/genesis":
            root = self._vector["genesis_validators_root"]
            told = {"genesis_time": str(self.genesis_time), "genesis_validators_root": root}
            return 200, json.dumps({"data": told}).encode()
        if path == "/eth/v1/config/spec":
            return 200, json.dumps({"data": self._vector["network"] | self.spec}).encode()
        if path == f"{LIGHT_CLIENT}bootstrap/{self._vector['checkpoint']}":
            return 200, json.dumps(self._vector["bootstrap"]["object"]).encode()
        if path.startswith(f"{LIGHT_CLIENT}updates?"):
            query = dict(part.split("=") for part in path.partition("?")[2].split("&"))
            return 200, json.dumps(self._updates(int(query["start_period"]), int(query["count"]))).encode()
        if path in (f"{LIGHT_CLIENT}finality_update", f"{LIGHT_CLIENT}optimistic_update"):
            return self.newest(path.rpartition("/")[2])
        return NONE

    def _told(self, kind: str) -> list[Json]:
        told = (
            each
            for each in self._vector["steps"]
            if each["kind"] == kind and each["wsnode"]["outcome"] == "taken"
        )
        return [each["object"] for each in told if _signed(each["object"]) <= self._told_slot()]

    def _updates(self, first: int, count: int) -> list[Json]:
        network, found = network_of(self._vector), {}
        for each in self._told("update"):
            found[network.period(_signed(each))] = each
        return [found[period] for period in range(first, first + count) if period in found]

    def newest(self, kind: str) -> Answer:
        """Return the answer that has the newest update of a kind."""
        told = self._told(kind)
        return (200, json.dumps(told[-1]).encode()) if told else NONE


class FakeBeacon:
    """Serves what a vector has up to the clock's slot, or what `lie` makes of it."""

    def __init__(self, vector: Json, clock_slot: Callable[[], int], nursery: trio.Nursery) -> None:
        self._answers = BeaconAnswers(vector, clock_slot)
        self._nursery = nursery
        self.lie: Callable[[str, Answer], Answer | bytes | None] = lambda path, answer: None
        """Given a path and the true answer: another one, bytes in place of all of HTTP, or None."""
        self.has_events = False
        self.is_silent = False
        """Whether it takes requests and never answers."""
        self.events_end = trio.Event()
        """Ends the events that are told now; another event takes its place."""
        self.asked: list[str] = []

    @property
    def spec(self) -> Json:
        """Return what its configuration says else than the vector."""
        return self._answers.spec

    @spec.setter
    def spec(self, spec: Json) -> None:
        self._answers.spec = spec

    async def connect(self, _address: UpstreamAddress) -> trio.abc.Stream:
        await trio.lowlevel.checkpoint()
        ours, theirs = memory_stream_pair()
        self._nursery.start_soon(self._serve, theirs)
        return ours

    def end_events(self) -> None:
        """End the events that are told now."""
        self.events_end.set()
        self.events_end = trio.Event()

    async def _serve(self, stream: trio.abc.Stream) -> None:
        protocol = h11.Connection(h11.SERVER)
        try:
            while not isinstance(event := protocol.next_event(), h11.Request):
                if event is h11.NEED_DATA:
                    protocol.receive_data(bytes(await stream.receive_some()))
                else:
                    return
            path = event.target.decode()
            self.asked.append(path)
            if self.is_silent:
                await trio.sleep_forever()
            if path.startswith("/eth/v1/events") and self.has_events:
                await self._tell_events(stream, protocol)
                return
            answer = self._answers.answer(path)
            changed = self.lie(path, answer)
            if isinstance(changed, bytes):
                await stream.send_all(changed)
            else:
                status, body = answer if changed is None else changed
                await stream.send_all(_response(protocol, status, body))
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            return
        finally:
            await trio.aclose_forcefully(stream)

    async def _tell_events(self, stream: trio.abc.Stream, protocol: h11.Connection) -> None:
        head = h11.Response(status_code=200, headers=[("transfer-encoding", "chunked")])
        await stream.send_all(protocol.send(head) or b"")
        last: dict[str, bytes] = {}
        end = self.events_end
        while not end.is_set():
            for kind in ("finality_update", "optimistic_update"):
                status, body = self._answers.newest(kind)
                if status == 200 and last.get(kind) != body:
                    last[kind] = body
                    text = b"event: light_client_%s\r\ndata: %s\r\n\r\n" % (kind.encode(), body)
                    await stream.send_all(protocol.send(h11.Data(data=b":\n\n" + text)) or b"")
            await trio.sleep(1)


def _signed(update: Json) -> int:
    return int(update["data"]["signature_slot"])


def _response(protocol: h11.Connection, status: int, body: bytes) -> bytes:
    head = h11.Response(status_code=status, headers=[("content-length", str(len(body)))])
    parts = [protocol.send(event) for event in (head, h11.Data(data=body), h11.EndOfMessage())]
    return b"".join(part for part in parts if part is not None)


async def at_once(work: Callable[[], T], /) -> T:
    """Return what work returns: a clock that jumps would not wait for a thread."""
    await trio.lowlevel.checkpoint()
    return work()


class BeaconWorld:
    """A prover, its beacon nodes by name, and a clock that begins at a slot."""

    def __init__(self, vector: Json, names: tuple[str, ...], start_slot: int, nursery: trio.Nursery) -> None:
        self.vector = vector
        self._began = trio.current_time() - start_slot * SLOT_SECONDS
        self.sources = {name: FakeBeacon(vector, lambda: self.prover.clock_slot, nursery) for name in names}
        nodes = [
            BeaconNode(name, BeaconApi(UpstreamAddress.parse(f"http://{name}/"), source.connect))
            for name, source in self.sources.items()
        ]
        self.prover = HeadProver(
            network_of(vector),
            nodes,
            unprefixed(vector["checkpoint"]),
            slot_seconds=SLOT_SECONDS,
            committee_size=int(vector["network"]["SYNC_COMMITTEE_SIZE"]),
            now=self._now,
            run_sync=at_once,
        )

    def _now(self) -> float:
        return trio.current_time() - self._began

    def node(self, name: str) -> BeaconNode:
        return next(each for each in self.prover.nodes if each.name == name)

    async def until_slot(self, slot: int) -> None:
        """Return at the end of a slot of the clock, once nothing more is to be done in it."""
        await self.until_seconds((slot + 1) * SLOT_SECONDS - 0.1)

    async def until_seconds(self, seconds: float) -> None:
        """Return at a time of the clock, which counts from slot 0 on."""
        await trio.sleep(seconds - self._now())
