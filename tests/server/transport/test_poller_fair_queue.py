import time
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from wsnode._native.wire import SocketQueue
from wsnode.server.transport.poller import Peer

PEERS = st.sampled_from([None, None, "a", "b", "c"])
QUICK_COST = 0.0002
MAX_PENALTY = 0.02
MAX_KNOWN = 16_384
OF_A_NEW = 2


class Queue:
    """The engine's queue, of sockets that are all left to be read."""

    def __init__(self) -> None:
        self._sockets = SocketQueue(1024, 0.0)

    @property
    def waiting(self) -> int:
        return self._sockets.waiting

    @property
    def known(self) -> int:
        return self._sockets.known

    def add(self, descriptor: int, peer: Peer) -> None:
        self._sockets.watch(descriptor, peer)
        self._sockets.add(descriptor)

    def pop(self) -> int:
        left = self._sockets.next(60)
        assert left is not None
        assert left[1:] == (None, None)
        return left[0]

    def charge(self, seconds: float, took: float = 0.0) -> None:
        """End a turn of `seconds`, and of those among `took` that count."""
        assert self._sockets.next(None, took, seconds) is None

    @property
    def charged(self) -> float:
        return self._sockets.charged

    def forget(self, descriptor: int) -> None:
        self._sockets.forget(descriptor)


def show_to_be_quick(queue: Queue, number: int, seconds: float = 0.0001) -> None:
    """Have a socket take as many turns as it takes for a new one to be known to be quick."""
    for _ in range(OF_A_NEW):
        queue.add(number, None)
        queue.pop()
        queue.charge(seconds)


def take_all(queue: Queue, seconds: float = 0.001) -> list[int]:
    taken = []
    while queue.waiting:
        taken.append(queue.pop())
        queue.charge(seconds)
    return taken


def test_peers_take_turns_and_a_socket_without_one_is_its_own() -> None:
    queue = Queue()
    for descriptor, peer in ((1, "a"), (2, "a"), (3, None), (4, "b"), (5, "a"), (6, None)):
        queue.add(descriptor, peer)
    assert queue.waiting == 4
    assert take_all(queue, 0.002) == [1, 3, 4, 6, 2, 5]


@given(st.lists(PEERS, max_size=40), st.sampled_from([0.0, 0.001, 1.0]))
def test_each_socket_comes_once(peers: list[Peer], seconds: float) -> None:
    queue = Queue()
    for descriptor, peer in enumerate(peers):
        queue.add(descriptor, peer)
        queue.add(descriptor, peer)
    assert sorted(take_all(queue, seconds)) == [*range(len(peers))]


def spent_by(costs: list[float], turns: int) -> list[int]:
    """Return the time that each place got in `turns`, in tenths of milliseconds, all always having more."""
    queue, spent = Queue(), Counter[int]()
    for place in range(len(costs)):
        queue.add(place, None)
    for _ in range(turns):
        place = queue.pop()
        queue.charge(costs[place])
        spent[place] += round(costs[place] * 10_000)
        queue.add(place, None)
    return [spent[place] for place in range(len(costs))]


# Until it was first known what a place costs, it may have had one long turn.
MAX_APART = 2 * round(MAX_PENALTY * 10_000)


@given(st.lists(st.sampled_from([0.0005, 0.001, 0.003]), min_size=2, max_size=6), st.integers(100, 300))
def test_peers_that_always_have_more_get_as_much_time_as_each_other(costs: list[float], turns: int) -> None:
    spent = spent_by(costs, turns)
    assert max(spent) - min(spent) <= MAX_APART


@given(st.lists(st.sampled_from([0.001, 0.003]), min_size=1, max_size=6), st.integers(100, 300))
def test_a_quick_peer_that_always_has_more_gets_half_of_the_time_at_the_most(
    costs: list[float], turns: int
) -> None:
    quick, *long = spent_by([0.0002, *costs], turns)
    assert quick <= sum(long) + MAX_APART
    assert max(long) - min(long) <= MAX_APART


def test_a_quick_peer_comes_before_long_ones_that_came_first() -> None:
    queue = Queue()
    queue.add(0, "quick")
    queue.pop()
    queue.charge(0.0001)
    for descriptor in range(1, 10):
        queue.add(descriptor, f"long {descriptor}")
    queue.add(0, "quick")
    assert queue.pop() == 0


def test_a_pause_within_a_turn_costs_a_peer_little() -> None:
    queue = Queue()
    queue.add(0, "honest")
    queue.pop()
    queue.charge(30.0)
    order = []
    for _ in range(4):
        queue.add(0, "honest")
        queue.add(1, "other")
        order.append(queue.pop())
        queue.charge(MAX_PENALTY)
    assert 0 in order


def test_a_socket_that_is_closed_within_its_turn_leaves_nothing() -> None:
    queue = Queue()
    queue.add(7, None)
    assert queue.pop() == 7
    queue.forget(7)
    queue.charge(5.0)
    queue.add(8, None)
    queue.add(7, None)
    assert take_all(queue) == [8, 7]


def test_a_quick_socket_comes_first_while_thousands_of_new_ones_arrive() -> None:
    queue = Queue()
    queue.add(0, None)
    queue.pop()
    queue.charge(0.0001)
    for number in range(1, 3 * MAX_KNOWN):
        queue.add(number, None)
        if number % 1000 == 0:
            queue.add(0, None)
            assert queue.pop() == 0
        queue.pop()
        queue.charge(0.0001 if number % 2 else 0.001)


def test_a_new_socket_comes_within_few_rounds_of_those_that_are_quick() -> None:
    queue = Queue()
    for number in range(1000):
        show_to_be_quick(queue, number)
    for number in range(1001):
        queue.add(number, None)
    turns = 0
    while (number := queue.pop()) != 1000:
        queue.charge(0.0001)
        queue.add(number, None)
        turns += 1
    assert turns <= 3000


def test_a_quick_socket_comes_before_new_ones_whose_handshake_alone_was_quick() -> None:
    queue = quick_and_others(240)
    for _ in range(1, 240):
        queue.pop()
        queue.charge(0.0001)
    for number in range(1, 240):
        queue.add(number, None)
    queue.add(0, None)
    taken = [queue.pop()]
    while taken[-1]:
        # The first call of each.
        queue.charge(0.0009)
        taken.append(queue.pop())
    assert len(taken) <= 2


def test_a_quick_socket_comes_before_thousands_that_came_at_once() -> None:
    queue = Queue()
    for number in range(5000):
        # The first is quick, and the others are not, as if each had woken a task.
        show_to_be_quick(queue, number, 0.0003 if number else 0.0)
    for number in range(1, 5000):
        queue.add(number, None)
    for _ in range(100):
        queue.add(0, None)
        assert queue.pop() == 0
        queue.charge(0.0)
        queue.pop()
        queue.charge(0.0003)


def quick_and_others(sockets: int) -> Queue:
    """Return a queue that knows socket 0 to be quick, and in which the others wait that it does not know."""
    queue = Queue()
    show_to_be_quick(queue, 0)
    for number in range(1, sockets):
        queue.add(number, None)
    return queue


def test_a_quick_socket_waits_for_few_of_thousands_that_end() -> None:
    queue = quick_and_others(5000)
    for _ in range(100):
        queue.add(0, None)
        others = 0
        while (number := queue.pop()) != 0:
            # It is closed within its turn.
            queue.forget(number)
            queue.charge(0.0003)
            others += 1
        queue.charge(0.0001)
        assert others * 0.0003 <= MAX_PENALTY


def test_sockets_with_a_quick_burst_before_each_long_one_come_behind_a_quick_one() -> None:
    """A batch of 70 KB arrives in two bursts, of which the first has no work."""
    queue, waits = quick_and_others(11), list[float]()
    for seconds in (0.0001, 0.005) * 20:
        for number in (*range(1, 11), 0):
            queue.add(number, None)
        waited = 0.0
        while (number := queue.pop()) != 0:
            queue.charge(seconds)
            waited += seconds
        waits.append(waited)
        queue.charge(0.0001)
        take_all(queue, seconds)
    assert max(waits[20:]) <= 2 * 0.005


def test_what_nobody_waits_for_makes_no_quick_socket_a_slow_one() -> None:
    queue = Queue()
    show_to_be_quick(queue, 0)
    for _ in range(10):
        queue.add(0, None)
        queue.pop()
        queue.charge(0.01)
    for number in range(1, 10):
        queue.add(number, None)
    queue.add(0, None)
    assert queue.pop() == 0


def test_a_socket_that_is_nearly_quick_comes_before_thousands_that_are_not() -> None:
    queue = quick_and_others(5000)
    for _ in range(100):
        queue.add(0, None)
        assert queue.pop() == 0
        # A call takes as long where memory is busy.
        queue.charge(0.0003)
        queue.pop()
        queue.charge(0.0003)


def test_a_quick_socket_stays_quick_when_others_take_the_core_in_its_turns() -> None:
    queue = quick_and_others(100)
    for _ in range(20):
        queue.add(0, None)
        assert queue.pop() == 0
        time.sleep(0.001)
        queue.charge(0.0, took=0.001)
        queue.pop()
        queue.charge(0.0003)


def test_what_a_thread_works_counts() -> None:
    queue = Queue()
    queue.add(0, None)
    queue.add(1, None)
    queue.pop()
    began, worked = time.perf_counter(), time.thread_time()
    while time.thread_time() < worked + 0.002:
        pass
    # Less what the engine's own part of the turn seemed to take, which was quick.
    queue.charge(0.0, took=time.perf_counter() - began)
    assert queue.charged >= 0.002 - QUICK_COST


def test_of_many_peers_those_are_remembered_that_came_last() -> None:
    queue = Queue()
    for number in range(4 * MAX_KNOWN):
        queue.add(number, f"peer {number}")
        queue.pop()
        queue.charge(0.001 if number % 2 else 0.0)
        assert queue.known <= 2 * MAX_KNOWN + 1
    assert queue.known >= MAX_KNOWN
