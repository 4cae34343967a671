"""A node in its own loop, which is closed and opened again, and clients that read on command."""

from pathlib import Path
from typing import Any

import trio
import trio.testing
from trio.testing import wait_all_tasks_blocked

from tests.ethereum.live.arrived import Arrived
from tests.ethereum.live.growing import GrowingChain, emitting_genesis
from tests.live.node import posted
from tests.scenarios.model.connection import Connection, LockedPeer
from tests.scenarios.model.ledger import Ledger, Place
from tests.scenarios.model.loop import Loop
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.live.position import Position
from wsnode.ethereum.rpc.common.limits import CallLimits
from wsnode.ethereum.rpc.registry import build_registry
from wsnode.server.access.router import Network
from wsnode.server.limits import Limits
from wsnode.server.server import RESTARTING, Server

GRACE_SECONDS = 10.0
LIMITS = Limits(outbox_bytes=3000, deflate_bytes=300, drain_seconds=GRACE_SECONDS)
CALL_LIMITS = CallLimits(logs_results=5)


class Stage:
    """One node over one folder, through all its restarts. Every method runs in the loop."""

    def __init__(self, loop: Loop, folder: Path, *, closes_slow: bool) -> None:
        self._loop = loop
        self._folder = folder
        self._closes_slow = closes_slow
        self._growing: GrowingChain | None = None

    async def open(self) -> None:
        """Open the folder and serve it."""
        genesis = emitting_genesis() if self._growing is None else None
        self._chain = Chain.open(self._folder, genesis, writer=True, durable=False)
        if self._growing is None:
            self._growing = GrowingChain(self._chain)
            self.ledger = Ledger(self._growing, self._chain.head)
        self.growing = self._growing
        self.growing.go_on_with(self._chain)
        self.hub = Hub(self._chain)
        self.hub.on_change.append(self.ledger.follow)
        self.hub.pending.render = lambda arrived: b'{"hash":"0x%b"}' % arrived.hash.hex().encode()
        registry = build_registry(self._chain, limits=CALL_LIMITS, hub=self.hub)
        network = Network("test", registry, self._chain.snapshot, fan_out=self.hub.fan_out)
        self.server = Server([network], LIMITS, closes_slow=self._closes_slow)
        self.server.final_notice = RESTARTING
        self._ended = trio.Event()
        await self._loop.nursery.start(self._serve)

    async def close(self) -> None:
        """End everything at once."""
        self._scope.cancel()
        await self._ended.wait()

    async def drain(self) -> None:
        """End as a node does at SIGTERM."""
        drained = trio.Event()

        async def drain() -> None:
            await self.server.drain()
            drained.set()

        self._nursery.start_soon(drain)
        await wait_all_tasks_blocked()
        while not drained.is_set():
            self._loop.clock.jump(GRACE_SECONDS)
            await wait_all_tasks_blocked()
        await self.close()

    async def connect(self, *, deflate: bool) -> Connection:
        """Return a new client."""
        mine, theirs = trio.testing.lockstep_stream_pair()
        self._nursery.start_soon(self.server.serve_stream, theirs)
        connection = Connection(LockedPeer(mine, deflate=deflate))
        await connection.peer.open()
        self._loop.nursery.start_soon(connection.run)
        return connection

    async def post(self, method: str, *params: Any) -> Any:
        """Return the result of a call over HTTP."""
        reply = await posted(self.server, self._nursery, method, params)
        assert "result" in reply, reply
        return reply["result"]

    async def logs(self) -> list[Place]:
        """Return the logs of the chain as eth_getLogs has them, in such ranges as it advises."""
        first, places = 0, list[Place]()
        while first <= self._chain.head.number:
            wanted = {"fromBlock": hex(first), "toBlock": hex(self._chain.head.number)}
            reply = await posted(self.server, self._nursery, "eth_getLogs", [wanted])
            if "error" in reply:
                wanted["toBlock"] = reply["error"]["data"]["to"]
                reply = await posted(self.server, self._nursery, "eth_getLogs", [wanted])
            places += [(log["blockHash"], int(log["logIndex"], 16)) for log in reply["result"]]
            first = int(wanted["toBlock"], 16) + 1
        return places

    async def catch_up(self) -> None:
        """Have the hub announce everything that the store holds."""
        while self.hub.meeting_point != Position.after(self._chain.head):
            self.hub.advance()

    async def announce(self, count: int) -> None:
        """Let pending transactions arrive."""
        first = self.hub.pending.count
        self.hub.pending.announce([Arrived(number.to_bytes(32)) for number in range(first, first + count)])

    @property
    def tasks(self) -> int:
        """Return how many tasks the node has."""
        return len(self._nursery.child_tasks)

    async def _serve(self, task_status: trio.TaskStatus[None]) -> None:
        try:
            async with trio.open_nursery() as self._nursery:
                self._scope = self._nursery.cancel_scope
                self._nursery.start_soon(self.server.hand_out)
                self._nursery.start_soon(self.hub.watch)
                task_status.started()
        finally:
            self._chain.close()
            self._ended.set()
