"""Which worker gets the next connection, and when one that has ended is replaced."""

from hypothesis import given
from hypothesis import strategies as st

from wsnode.node.workers.master.worker_process import Pauses, WorkerProcess, by_load


def worker(number: int, connections: int = 0, last_given: int = 0) -> WorkerProcess:
    made = WorkerProcess(number, number, holds=False)
    made.connections, made.last_given = connections, last_given
    return made


@given(st.lists(st.integers(0, 5), max_size=200), st.integers(1, 8))
def test_arrivals_and_departures_leave_workers_as_even_as_departures_allow(
    departures: list[int], count: int
) -> None:
    workers = [worker(number) for number in range(count)]
    for number, departure in enumerate(departures, 1):
        leaving = workers[departure % count]
        leaving.connections = max(0, leaving.connections - departure)
        least = min(each.connections for each in workers)
        chosen = by_load(workers)[0]
        assert chosen.connections == least
        chosen.connections, chosen.last_given = chosen.connections + 1, number


def test_two_hundred_arrivals_are_placed_evenly() -> None:
    workers = [worker(number) for number in range(4)]
    for number in range(200):
        chosen = by_load(workers)[0]
        chosen.connections, chosen.last_given = chosen.connections + 1, number
    assert [each.connections for each in workers] == [50] * 4


def test_of_equals_the_one_that_waited_longest_is_chosen() -> None:
    workers = [worker(1, 3, 7), worker(2, 3, 5), worker(3, 3, 9)]
    assert by_load(workers)[0] is workers[1]


def test_a_worker_that_keeps_ending_is_replaced_after_longer_and_longer_pauses() -> None:
    pauses = Pauses()
    assert [pauses.after(0.5) for _ in range(8)] == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]
    assert pauses.after(10.0) == 0.1
    assert pauses.after(1.0) == 0.2
