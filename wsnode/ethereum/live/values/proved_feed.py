"""Values of a light folder, proved by other nodes after each block and then sent."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import trio

from wsnode.ethereum.codec.rows import header_fields
from wsnode.ethereum.head import Head
from wsnode.ethereum.live.hub import Hub, ProofSource
from wsnode.ethereum.live.values.feed import WatchedKeys, announce_reorganisation
from wsnode.ethereum.live.values.watched_values import (
    ADDRESS_BYTES,
    BlockState,
    Failure,
    Key,
    PublishedValues,
    StateCursor,
    Value,
    changes_of,
    joined,
    read_known_values,
    render_values,
)
from wsnode.ethereum.not_found import no_state
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import MissingStateError
from wsnode.jsonrpc.errors import RpcError
from wsnode.pubsub.fan_out import FanOut

ROUNDS: Final = 4
"""Rounds of proofs: the root, accounts, slots of accounts with a changed storage root, and a spare."""
KEYS_AT_ONCE: Final = 2_000
"""Number of keys, after which no further watch joins a turn."""
NO_ROOT: Final = bytes(32)
"""Root of no state: a client that resumes from it is sent all values."""

logger = logging.getLogger("wsnode.live")


class ProvedWatchedKeys(WatchedKeys):
    """Accounts and slots watched by equal subscriptions on a light folder, with their values after `place`,
    the block for which they were last proved; None before the first.
    """

    def __init__(self, fan_out: FanOut, keys: tuple[Key, ...]) -> None:
        super().__init__(fan_out, keys, {})
        self.place: BlockState | None = None
        self.once_proved: dict[Callable[[], None], None] = {}
        """Callbacks at its next turn, for subscriptions that wait for first values."""


class ProvedStateFeed:
    """Feed of proved values: has the watched values proved after each head, and publishes changed ones.

    A bounded number of values is requested for each block. Watches beyond it have their turn at the next
    block, before the others; all values of one watch belong to one block.
    """

    def __init__(self, hub: Hub, proofs: int) -> None:
        """Make a feed; at most `proofs` values are requested after each block."""
        self._hub = hub
        self._proofs = proofs
        self._left = proofs
        self._head: Head | None = None
        """Block of which `_left` values may still be requested."""
        self.watches: dict[tuple[Key, ...], ProvedWatchedKeys] = {}
        """Watches by keys, the one with the oldest turn first."""
        self._due = trio.Event()
        self._is_waiting = True
        hub.on_change.append(lambda _change: self._due.set())
        hub.background.append(self.run)

    def __len__(self) -> int:
        return len(self.watches)

    @property
    def is_idle(self) -> bool:
        """Return True if there is nothing to do until the next block or the next watch."""
        return self._is_waiting and not self._due.is_set()

    def hold(self, keys: tuple[Key, ...]) -> ProvedWatchedKeys:
        """Return the watch of these keys, without values if new; each call is undone by `release`."""
        if (watch := self.watches.get(keys)) is None:
            watch = self.watches[keys] = ProvedWatchedKeys(self._hub.fan_out, keys)
            self._due.set()
        watch.holders += 1
        return watch

    def release(self, watch: ProvedWatchedKeys) -> None:
        watch.holders -= 1
        if not watch.holders:
            del self.watches[watch.keys]

    async def run(self) -> None:
        while True:
            self._is_waiting = True
            await self._due.wait()
            self._is_waiting = False
            self._due = trio.Event()
            try:
                await self._follow()
            except RpcError:
                # The head has left the chain, and the next head is another attempt.
                continue
            except Exception:
                logger.exception("watched values were not proved; the next block is another attempt")

    async def values_at(self, cursor: StateCursor, keys: Sequence[Key]) -> dict[Key, Value] | None:
        """Return the values after the block of a cursor; None if nodes no longer prove them."""
        with self._hub.snapshot() as view:
            if view.hash_of(cursor.head.number) != cursor.head.hash:
                return None
            if _place(view, cursor.head).cursor != cursor:
                return None
        values = await self._values(cursor.head, keys)
        return None if _has_failed(values) else values

    async def _follow(self) -> None:
        """Serve watches in turn until all have had a turn, or the head has changed."""
        with self._hub.snapshot() as view:
            head = view.head
            place = _place(view, head)
        if self._head != head:
            self._head, self._left = head, self._proofs
        while head == self._hub.head and (some := self._next_turns(head)):
            if not (chosen := await self._affordable(head, some)):
                return
            values = await self._values(head, _keys_of(chosen))
            if not self._publish(place, chosen, values):
                return

    def _next_turns(self, head: Head) -> list[ProvedWatchedKeys]:
        """Return the first watches without values of the block `head`."""
        found: list[ProvedWatchedKeys] = []
        keys = 0
        for watch in self.watches.values():
            if watch.place is None or watch.place.cursor.head != head:
                found.append(watch)
                if (keys := keys + len(watch.keys)) >= KEYS_AT_ONCE:
                    break
        return found

    async def _affordable(self, head: Head, watches: Sequence[ProvedWatchedKeys]) -> list[ProvedWatchedKeys]:
        """Return the first of these watches whose missing values fit the bound."""
        lacking = await self._carry(head, _keys_of(watches))
        chosen: list[ProvedWatchedKeys] = []
        counted: set[bytes | tuple[bytes, bytes]] = set()
        for watch in watches:
            for error in (lacking[key] for key in watch.keys if key in lacking):
                counted.update(error.accounts, error.slots)
            if len(counted) > self._left:
                break
            chosen.append(watch)
        return chosen

    async def _carry(self, head: Head, keys: Sequence[Key]) -> Mapping[Key, MissingStateError]:
        """Keep values that block access lists prove; return the missing state of the other keys."""
        _known, lacking = await self._read(head, keys)
        # While the block's root is unknown, the error names only the root, so a second round is needed for
        # the values.
        for _ in range(2):
            if lacking:
                await self._source.carry(joined(lacking.values()))
                _known, lacking = await self._read(head, keys)
        return lacking

    async def _read(
        self, head: Head, keys: Sequence[Key]
    ) -> tuple[dict[Key, Value], dict[Key, MissingStateError]]:
        return await trio.to_thread.run_sync(read_known_values, self._hub.state, head, keys)

    @property
    def _source(self) -> ProofSource:
        source = self._hub.proof_source
        assert source is not None, "nothing is watched without one"
        return source

    async def _values(self, head: Head, keys: Sequence[Key]) -> dict[Key, Value]:
        """Return the values after a block, with an error for each account that is not fully proved."""
        failure = no_state()
        for _ in range(ROUNDS):
            known, lacking = await self._read(head, keys)
            if not lacking:
                return known
            error = joined(lacking.values())
            if error.accounts:
                # Accounts are proved first: the storage of most has not changed, so their slots need no
                # proofs of their own.
                error.slots = []
            self._left -= len(error.accounts) + len(error.slots)
            try:
                await self._source.fetch(error)
            except RpcError as refused:
                failure = refused
                break
        known, lacking = await self._read(head, keys)
        failed = {key[:ADDRESS_BYTES] for key in lacking}
        instead = Failure(failure.code, failure.message, failure.data)
        return {key: instead if key[:ADDRESS_BYTES] in failed else known[key] for key in keys}

    def _publish(
        self, place: BlockState, watches: Sequence[ProvedWatchedKeys], values: Mapping[Key, Value]
    ) -> bool:
        """Publish changed values; return False if the block is no longer canonical."""
        head = place.cursor.head
        with self._hub.snapshot() as view:
            if view.hash_of(head.number) != head.hash:
                return False
            if view.head != head and _has_failed(values):
                # Other nodes prove only their newest blocks: at the present head the failure may not occur.
                return False
            for watch in watches:
                if self.watches.get(watch.keys) is watch:
                    self._take_turn(view, place, watch, {key: values[key] for key in watch.keys})
        return True

    def _take_turn(
        self, view: Snapshot, place: BlockState, watch: ProvedWatchedKeys, values: Mapping[Key, Value]
    ) -> None:
        self.watches[watch.keys] = self.watches.pop(watch.keys)
        if _has_failed(values):
            # Values after this block are missing, so its cursor gets `NO_ROOT`: a client must not resume as
            # if it had them.
            place = BlockState(StateCursor(place.cursor.head, NO_ROOT), place.timestamp)
        before, watch.place = watch.place, place
        if before is not None:
            passed_over = place.cursor.head.number - before.cursor.head.number - 1
            self._hub.live_late_blocks += max(passed_over, 0)
            told = PublishedValues(before.cursor, watch.values)
            announce_reorganisation(view, (watch,), before.cursor, lambda _watch: told)
            if accounts := changes_of(watch.values, values):
                watch.publish(render_values(place, accounts), place.cursor, told)
        watch.values = values
        waiting, watch.once_proved = watch.once_proved, {}
        for resume in waiting:
            resume()


def _place(view: Snapshot, head: Head) -> BlockState:
    """Return block, state root of its header, and timestamp of a canonical block."""
    header = view.header(head.number)
    assert header is not None, "it is canonical"
    fields = header_fields(header)
    return BlockState(StateCursor(head, fields.state_root), fields.timestamp)


def _keys_of(watches: Iterable[WatchedKeys]) -> list[Key]:
    return list(dict.fromkeys(key for watch in watches for key in watch.keys))


def _has_failed(values: Mapping[Key, Value]) -> bool:
    return any(isinstance(value, Failure) for value in values.values())
