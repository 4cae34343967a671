"""Hostile clients on plain sockets, all of them in one process that ends by itself.

A connection that the node closes is opened again after a pause. Nothing that is received is looked at.
"""

import heapq
import itertools
import os
import selectors
import socket
import time
from contextlib import AbstractContextManager
from multiprocessing.connection import Connection
from typing import NamedTuple

from bench.lib.attacks import CLIENTS, Attack
from bench.lib.forked import forked
from bench.lib.peer import begin, reach
from wsnode.load.frames import PONG, masked_frame

CONNECT_SECONDS = 1.0
OPENED_AT_ONCE = 32
REOPENING_PAUSE = 0.5
SIGN_OF_LIFE = 5.0
MAX_TURN = 0.05
NICENESS = 19
"""Attackers elsewhere would not take the cores of the node and of the probe."""

_UNWANTED = bytearray(1 << 20)
_ALIVE = masked_frame(b"", PONG)


class Outcome(NamedTuple):
    """Megabytes that were sent, connections that it closed or refused, and the most that were open."""

    megabytes: float
    closed: int
    open: int


def attacking(
    url: str, attack: Attack, seconds: float, source: str | None = None
) -> AbstractContextManager[Connection]:
    """Attack in another process; an `Outcome` can be received from what is yielded once that is over.

    All connections come from the address `source`, if there is one.
    """
    return forked(_attack, url, attack, source, seconds)


def _attack(
    url: str,
    attack: Attack,
    source: str | None,
    seconds: float,
    controller: Connection,
) -> None:
    os.nice(NICENESS)
    controller.send(Crowd(url, attack, source).run(seconds))


class _Attacker:
    """One connection."""

    def __init__(self, number: int, connected: socket.socket, attack: Attack) -> None:
        self.socket = connected
        self.is_closed = False
        # A WebSocket's first bytes must wait for the answer to its handshake.
        self.is_shaking = not attack.is_http
        self.unsent = memoryview(b"")
        self._opening = attack.opening
        self._bursts = itertools.cycle(attack.bursts or ([] if attack.is_http else [_ALIVE]))
        for _ in range(number % max(1, len(attack.bursts))):
            next(self._bursts)

    def begin(self) -> None:
        """Have the first bytes sent."""
        self.is_shaking = False
        self.unsent = memoryview(self._opening or next(self._bursts, b""))

    def go_on(self) -> None:
        """Have the next bytes sent."""
        self.unsent = memoryview(next(self._bursts, b""))


class Crowd:
    """All connections of an attack."""

    def __init__(self, url: str, attack: Attack, source: str | None = None) -> None:
        self._url, self._attack, self._source = url, attack, source
        self._wanted = CLIENTS * attack.connections
        self._pause = attack.pause if attack.bursts else SIGN_OF_LIFE
        self._selector = selectors.DefaultSelector()
        self._attackers = set[_Attacker]()
        self._due: list[tuple[float, int, _Attacker]] = []
        self._numbers = itertools.count()
        self._opens_at = 0.0
        self._sent = self._closed = self._most = 0

    def run(self, seconds: float) -> Outcome:
        """Attack for so long, leave, and return what came of it."""
        end = time.monotonic() + seconds
        while (now := time.monotonic()) < end:
            self._open_missing(now)
            self._begin_bursts(now)
            self._turn(min(end, now + MAX_TURN))
        for attacker in self._attackers:
            attacker.socket.close()
        return Outcome(self._sent / 1e6, self._closed, self._most)

    def _open_missing(self, now: float) -> None:
        if now < self._opens_at:
            return
        for _ in range(min(OPENED_AT_ONCE, self._wanted - len(self._attackers))):
            try:
                self._open()
            except OSError:
                self._closed += 1
                self._opens_at = time.monotonic() + REOPENING_PAUSE
                return

    def _open(self) -> None:
        if self._attack.is_http:
            connected = reach(self._url, CONNECT_SECONDS, self._source)
        else:
            connected = begin(self._url, CONNECT_SECONDS, self._source)
        connected.setblocking(False)
        attacker = _Attacker(next(self._numbers), connected, self._attack)
        self._attackers.add(attacker)
        self._most = max(self._most, len(self._attackers))
        if not attacker.is_shaking:
            attacker.begin()
        self._watch(attacker)

    def _schedule(self, attacker: _Attacker) -> None:
        due = self._attack.due_after(time.monotonic(), self._pause)
        heapq.heappush(self._due, (due, next(self._numbers), attacker))

    def _begin_bursts(self, now: float) -> None:
        while self._due and self._due[0][0] <= now:
            attacker = heapq.heappop(self._due)[2]
            if not attacker.is_closed and not attacker.unsent:
                attacker.go_on()
                self._watch(attacker)

    def _turn(self, end: float) -> None:
        """Send and receive for what is ready, or wait until something is due."""
        if self._due:
            end = min(end, self._due[0][0])
        left = max(0.0, end - time.monotonic())
        if not self._selector.get_map():
            time.sleep(left)
            return
        for key, events in self._selector.select(left):
            try:
                self._serve(key.data, events)
            except BlockingIOError:
                continue
            except OSError:
                self._close(key.data)

    def _serve(self, attacker: _Attacker, events: int) -> None:
        # Neither: the connection has failed, although no task reads from it.
        if not events:
            raise ConnectionResetError
        if events & selectors.EVENT_READ:
            self._receive(attacker)
        if events & selectors.EVENT_WRITE:
            self._send(attacker)

    def _receive(self, attacker: _Attacker) -> None:
        size = attacker.socket.recv_into(_UNWANTED)
        if not size:
            raise ConnectionResetError
        if attacker.is_shaking:
            if not _UNWANTED.startswith(b"HTTP/1.1 101"):
                raise ConnectionRefusedError
            attacker.begin()
            self._watch(attacker)

    def _send(self, attacker: _Attacker) -> None:
        sent = attacker.socket.send(attacker.unsent)
        self._sent += sent
        attacker.unsent = attacker.unsent[sent:]
        if not attacker.unsent:
            self._watch(attacker)
            self._schedule(attacker)

    def _watch(self, attacker: _Attacker) -> None:
        """Wait for what the connection has to do, if anything."""
        events = selectors.EVENT_READ if self._attack.reads or attacker.is_shaking else 0
        events |= selectors.EVENT_WRITE if attacker.unsent else 0
        if attacker.socket.fileno() in self._selector.get_map():
            self._selector.unregister(attacker.socket)
        if events:
            self._selector.register(attacker.socket, events, attacker)

    def _close(self, attacker: _Attacker) -> None:
        if attacker.socket in self._selector.get_map():
            self._selector.unregister(attacker.socket)
        attacker.socket.close()
        attacker.is_closed = True
        self._attackers.discard(attacker)
        self._closed += 1
        self._opens_at = max(self._opens_at, time.monotonic() + REOPENING_PAUSE)
