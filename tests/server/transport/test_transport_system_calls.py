"""The loop's own calls of the system, which let no other thread run."""

import gc
import select
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from wsnode._native.wire import send_now, waiting_events
from wsnode.server.transport.transport import SHORT_BYTES

CALLS = 2_000


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    with ours, theirs:
        yield ours, theirs


def test_a_socket_takes_what_it_has_room_for(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    sent = list(iter(lambda: send_now(ours.fileno(), bytes(SHORT_BYTES)), 0))
    assert sent
    received = 0
    while received < sum(sent):
        received += len(theirs.recv(SHORT_BYTES))
    assert send_now(ours.fileno(), b"more") == 4
    assert theirs.recv(SHORT_BYTES) == b"more"


def test_a_socket_that_ended_takes_nothing(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    theirs.close()
    with pytest.raises(BrokenPipeError):
        send_now(ours.fileno(), b"lost")
    ours.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        send_now(ours.fileno(), b"lost")


@pytest.mark.skipif(not hasattr(select, "epoll"), reason="the system has no epoll")
def test_events_are_those_that_python_would_return(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    with select.epoll() as epoll:
        for each in pair:
            epoll.register(each, select.EPOLLIN | select.EPOLLRDHUP)
        assert waiting_events(epoll.fileno(), 8) == epoll.poll(0) == []
        theirs.send(b"bytes")
        assert waiting_events(epoll.fileno(), 8) == epoll.poll(0) == [(ours.fileno(), select.EPOLLIN)]
        theirs.shutdown(socket.SHUT_WR)
        ours.send(b"bytes")
        assert sorted(waiting_events(epoll.fileno(), 8)) == sorted(epoll.poll(0))
        assert len(waiting_events(epoll.fileno(), 1)) == 1
    with pytest.raises(OSError, match="Bad file descriptor"):
        waiting_events(-1, 8)


@contextmanager
def another_thread() -> Iterator[list[int]]:
    """A thread that counts how often it could run, and gives way at once each time.

    Nothing is collected meanwhile: a file among the garbage of other tests would be closed, and let it run.
    """
    count, ends = [0], threading.Event()
    gc.collect()
    gc.disable()

    def run() -> None:
        while not ends.is_set():
            count[0] += 1
            time.sleep(0)

    thread, interval = threading.Thread(target=run), sys.getswitchinterval()
    thread.start()
    # From now on it runs only while this one gives way.
    sys.setswitchinterval(100)
    # What it waits for now may still end after the interval that there was.
    seen = count[0]
    while count[0] == seen:
        time.sleep(0)
    try:
        yield count
    finally:
        gc.enable()
        sys.setswitchinterval(interval)
        ends.set()
        thread.join()


@pytest.mark.skipif(not hasattr(select, "epoll"), reason="the system has no epoll")
def test_no_other_thread_runs_meanwhile(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, _theirs = pair
    with select.epoll() as epoll, another_thread() as count:
        epoll.register(ours, select.EPOLLIN)
        before = count[0]
        for _ in range(CALLS):
            send_now(ours.fileno(), b".")
            waiting_events(epoll.fileno(), 8)
        assert count[0] == before
        # Python's own let it, as soon as the system gives it a core.
        while count[0] == before:
            epoll.poll(0)
