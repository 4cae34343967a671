"""A node, its chain and its clients: what can happen to them, and what must be true of all."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import trio
from trio.testing import wait_all_tasks_blocked

from tests.ethereum.live.growing import EMITTERS, TOPICS
from tests.ethereum.live.test_replay_model import request_of
from tests.scenarios.model.connection import Connection
from tests.scenarios.model.followers import Follower, HeaderFollower, LogFollower, PendingFollower
from tests.scenarios.model.ledger import name
from tests.scenarios.model.loop import Loop
from tests.scenarios.model.polling import BlockFilter, PolledLogs
from tests.scenarios.model.stage import Stage
from tests.scenarios.model.wishes import Branch, Wanted, Wish, chosen, options_of
from wsnode.ethereum.head import Head
from wsnode.ethereum.live.subscription_spec import Extensions
from wsnode.ethereum.logs.filter import LogFilter


class World:
    """Every method runs in the node's loop."""

    def __init__(self, loop: Loop, folder: Path, *, closes_slow: bool) -> None:
        self.stage = Stage(loop, folder, closes_slow=closes_slow)
        self.connections: list[Connection] = []
        self.homeless: list[Follower[Any]] = []
        """Subscriptions whose connection broke off."""
        self.branches: list[Sequence[Head]] = []
        """Blocks that left the chain together, highest first."""
        self.filters: list[PolledLogs | BlockFilter] = []

    async def write(self, depth: int, blocks: Branch, told: bool) -> None:
        """Replace the last `depth` blocks by others; with `told` the hub reads the store at once."""
        growing, ledger = self.stage.growing, self.stage.ledger
        if dropped := growing.shrink(min(depth, len(growing.blocks))):
            self.branches.append(dropped)
            ledger.departures.update(map(name, dropped))
        for block in blocks:
            growing.grow(
                [(EMITTERS[emitter], tuple(TOPICS[topic] for topic in some)) for emitter, some in block]
            )
        ledger.note()
        if told:
            self.stage.hub.advance()

    async def return_to(self, branch: Sequence[Head], told: bool) -> None:
        """Go back to blocks that left the chain, if they still fit on it."""
        ledger, chain = self.stage.ledger, self.stage.ledger.chain
        lowest = branch[-1]
        is_connected = len(chain) >= lowest.number and (
            name(chain[lowest.number - 1]) == ledger.known[name(lowest)].parent
        )
        if is_connected:
            await self.write(len(chain) - lowest.number, [], told)
            self.stage.growing.return_to(branch)

    async def make_a_filter(self, criteria: Wanted | None) -> PolledLogs | BlockFilter:
        """Return a new filter of logs, or of blocks."""
        if criteria is None:
            return await BlockFilter.make(self.stage)
        return await PolledLogs.make(self.stage, chosen(criteria))

    async def come(self, wishes: Sequence[Wish], deflate: bool, reads: bool) -> None:
        """Let a new client subscribe."""
        connection = await self.stage.connect(deflate=deflate)
        self.connections.append(connection)
        for wish in wishes:
            await self.follow(connection, wish)
        if not reads:
            connection.read_only(0)

    async def come_back(self, deflate: bool, forgotten: int) -> None:
        """Let a new client go on with all that was broken off."""
        connection = await self.stage.connect(deflate=deflate)
        self.connections.append(connection)
        returning, self.homeless = self.homeless, []
        for follower in returning:
            request = follower.resume(forgotten)
            if request is not None:
                await self._subscribe(connection, follower, request)

    async def follow(self, connection: Connection, wish: Wish) -> None:
        """Subscribe to something new."""
        ledger, form = (
            self.stage.ledger,
            Extensions(wish.form.cursors or wish.start is not None, wish.form.reorgs),
        )
        if wish.kind == "newPendingTransactions":
            notices = wish.form.reorgs
            pending = PendingFollower(self.stage.hub.pending.count, has_notices=notices)
            params = [wish.kind, wish.form.cursors, *([{"notices": True}] if notices else [])]
            await self._subscribe(connection, pending, params)
            return
        follower: Follower[Any]
        if wish.kind == "newHeads":
            follower = HeaderFollower(ledger, options_of(None, form), form, ledger.chain[: wish.start])
        else:
            follower = self._log_follower(wish, form)
        await self._subscribe(
            connection, follower, [wish.kind, {**follower.options, **options_of(wish.start, form)}]
        )

    def _log_follower(self, wish: Wish, form: Extensions) -> LogFollower:
        ledger, height = self.stage.ledger, len(self.stage.ledger.chain)
        criteria, last = chosen(wish.criteria), wish.end
        if wish.start is None or (last is not None and last < wish.start):
            last = None
        options = {**request_of(criteria), **options_of(None, form)}
        if last is not None:
            options["toBlock"] = hex(last)
        # The client knows the chain before the beginning; it gets no notice of a beginning in the future.
        first = 0 if wish.start is None or wish.start <= height else wish.start
        before = (height if wish.start is None else wish.start) - 1
        known = criteria.between(first, before if last is None else min(before, last))
        view = ledger.canonical(known)
        return LogFollower(ledger, options, form, view, criteria.between(first, last))

    async def _subscribe(
        self, connection: Connection, follower: Follower[Any] | PendingFollower, params: list[Any]
    ) -> None:
        """Return once the request has been answered, which is when the subscription begins."""
        connection.read_on()
        await self.stage.catch_up()
        taken = trio.Event()

        def begin(identity: str) -> None:
            connection.receivers[identity] = follower
            taken.set()

        if not connection.closed:
            await connection.ask(begin, "eth_subscribe", *params)
            while not (taken.is_set() or connection.closed):
                await trio.lowlevel.checkpoint()
        if not taken.is_set() and isinstance(follower, Follower):
            self.homeless.append(follower)

    async def unsubscribe(self, connection: Connection, identity: str) -> None:
        """End a subscription; no notification may follow the reply."""
        follower = connection.receivers[identity]

        def end(_result: bool) -> None:
            del connection.receivers[identity]
            connection.over.add(identity)

        if not connection.closed and follower.final_notice is None and identity not in connection.ending:
            connection.ending.add(identity)
            await connection.ask(end, "eth_unsubscribe", identity)

    async def leave(self, connection: Connection) -> None:
        """Break a connection off."""
        self.connections.remove(connection)
        await connection.leave()
        for follower in connection.receivers.values():
            if isinstance(follower, Follower):
                self.homeless.append(follower)

    async def restart(self, told: bool) -> None:
        """Close the node and open it again; with `told`, reading clients get their notices first."""
        if told:
            readers = [each for each in self.connections if each.reads and not each.closed]
            await self.stage.drain()
            for connection in readers:
                received = connection.peer.protocol.close_rcvd
                assert received is not None
                for follower in connection.receivers.values():
                    assert (
                        follower.final_notice is not None
                    ) == follower.has_notices or received.code == 1013
        else:
            await self.stage.close()
        for connection in list(self.connections):
            await self.leave(connection)
        self.filters.clear()
        await self.stage.open()

    async def settle_all(self) -> None:
        """Let everything arrive; then all must have the canonical chain."""
        await self.stage.catch_up()
        for connection in self.connections:
            connection.read_on()
        await wait_all_tasks_blocked()
        ledger = self.stage.ledger
        for connection in list(self.connections):
            if connection.closed:
                received = connection.peer.protocol.close_rcvd
                assert received is not None
                assert received.code == 1013
                await self.leave(connection)
                continue
            for follower in connection.receivers.values():
                if isinstance(follower, PendingFollower):
                    # Without notices nothing says how many it missed last.
                    assert follower.count == self.stage.hub.pending.count or not follower.has_notices
                else:
                    assert follower.view == follower.expected()
        for each in self.filters:
            await each.poll()
        assert await self.stage.logs() == ledger.canonical(LogFilter())

    async def leave_nothing_behind(self) -> None:
        """Disconnect all clients; then no state of them may remain."""
        for connection in list(self.connections):
            await self.leave(connection)
        await wait_all_tasks_blocked()
        shared, hub = self.stage.server.shared, self.stage.hub
        assert (shared.waiting.used, shared.received.used, hub.fan_out.queued_bytes) == (0, 0, 0)
        assert (hub.parameters, shared.open_subscriptions.total(), shared.counters.connections) == (
            0,
            0,
            0,
        )
        assert len(hub.groups) == 0
        assert self.stage.tasks == 2
        await self.stage.close()
