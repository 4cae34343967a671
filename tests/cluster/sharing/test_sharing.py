"""Credits of keys that several nodes count together, by given clocks; and the same count in a Redis."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from math import inf
from typing import Final

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from tests.cluster.drawn import GENESIS
from tests.cluster.redis_server import RedisServer, needs_redis
from wsnode.cluster.address import JournalAddress
from wsnode.cluster.journal import JournalUnavailableError
from wsnode.cluster.redis_journal import RedisJournal, open_journal
from wsnode.cluster.shared_rates import MAX_SPENDINGS, KeySpending, RateSharer, SharedRates
from wsnode.server.access.rate_limit import CreditCountingRateLimiter, CreditRate, KeyAccount

KEY: Final = "ab" * 32
OTHER: Final = "cd" * 32
QUOTA: Final = f"wsnode:{{{GENESIS.hex()}}}:quota"


class Clock:
    """A clock that goes when it is moved."""

    def __init__(self, now: float) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


class MemoryQuotas:
    """The count that Redis keeps, by a clock of its own."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._full_at: dict[str, float] = {}
        self.asked: list[Sequence[KeySpending]] = []

    async def exchange(self, spendings: Sequence[KeySpending]) -> Mapping[str, float]:
        now = self._clock()
        self.asked.append(spendings)
        for each in spendings:
            known = self._full_at.get(each.digest, 0.0)
            latest = max(known, now) + each.seconds if each.seconds else inf
            earliest = max(known, now - each.since) + each.seconds
            self._full_at[each.digest] = max(earliest, min(now + each.own, latest))
        return {digest: full_at - now for digest, full_at in self._full_at.items() if full_at > now}


class Machine:
    """A node with a key, its clock some time apart from those of others."""

    def __init__(self, quotas: MemoryQuotas, rate: CreditRate, server: Clock, ahead: float) -> None:
        self._server, self._ahead, self._rate = server, ahead, rate
        self._uses = CreditCountingRateLimiter()
        self.account = KeyAccount(self._uses, rate)
        self.sharer = RateSharer(quotas, lambda: {KEY: self.account}, self.clock)

    def clock(self) -> float:
        return self._server() + self._ahead

    def is_admitted(self, cost: float = 1.0) -> bool:
        return not self._uses.charge(self.clock(), self._rate, cost)


def machines(rate: CreditRate, count: int) -> tuple[Clock, MemoryQuotas, list[Machine]]:
    server = Clock(1.7e9)
    quotas = MemoryQuotas(server)
    return server, quotas, [Machine(quotas, rate, server, 1e6 * number - 1.6e9) for number in range(count)]


async def test_what_is_spent_on_one_machine_is_missing_on_all() -> None:
    _clock, _quotas, (one, two) = machines(CreditRate(10.0, 5.0), 2)
    for each in (one, two):
        await each.sharer.exchange()
    assert [one.is_admitted() for _ in range(6)] == [True] * 5 + [False]
    await one.sharer.exchange()
    await two.sharer.exchange()
    assert not two.is_admitted()


async def test_credits_come_back_everywhere() -> None:
    server, _quotas, (one, two) = machines(CreditRate(10.0, 5.0), 2)
    for each in (one, two):
        await each.sharer.exchange()
    assert all(one.is_admitted() for _ in range(5))
    for each in (one, two):
        await each.sharer.exchange()
    server.now += 0.21
    assert [two.is_admitted() for _ in range(3)] == [True, True, False]
    server.now += 60
    for each in (two, one):
        await each.sharer.exchange()
    assert [one.is_admitted() for _ in range(6)] == [True] * 5 + [False]


async def test_what_several_machines_admit_at_once_is_owed_by_all() -> None:
    server, _quotas, nodes = machines(CreditRate(10.0, 5.0), 3)
    for each in nodes:
        await each.sharer.exchange()
    assert all(each.is_admitted() for each in nodes for _ in range(5))
    for each in nodes * 2:
        await each.sharer.exchange()
    # 15 credits of 5 are spent, so the next one is there after 1.1 seconds.
    server.now += 1.09
    assert not any(each.is_admitted() for each in nodes)
    server.now += 0.02
    assert all(each.is_admitted() for each in nodes)


async def test_what_is_spent_during_an_exchange_is_not_given_back() -> None:
    _clock, quotas, (one,) = machines(CreditRate(10.0, 5.0), 1)
    await one.sharer.exchange()
    one.is_admitted()
    count = quotas.exchange

    async def slow(spendings: Sequence[KeySpending]) -> Mapping[str, float]:
        found = await count(spendings)
        one.is_admitted(3.0)
        return found

    quotas.exchange = slow  # type: ignore[method-assign]
    await one.sharer.exchange()
    assert [one.is_admitted() for _ in range(2)] == [True, False]


async def test_a_machine_that_was_alone_brings_what_it_lacks_and_not_all_it_spent() -> None:
    server, quotas, (one, two) = machines(CreditRate(10.0, 5.0), 2)
    for _ in range(600):
        server.now += 0.1
        one.is_admitted()
    one.is_admitted(2.0)
    for each in (one, two):
        await each.sharer.exchange()
    server.now += 0.001
    assert [len(spendings) for spendings in quotas.asked] == [1, 0]
    assert [two.is_admitted() for _ in range(4)] == [True] * 2 + [False] * 2


async def test_many_keys_are_said_in_parts() -> None:
    clock, accounts = (
        Clock(5.0),
        {
            str(number): KeyAccount(CreditCountingRateLimiter(), CreditRate(1.0, 9.0))
            for number in range(2500)
        },
    )
    quotas = MemoryQuotas(clock)
    sharer = RateSharer(quotas, lambda: accounts, clock)
    await sharer.exchange()
    for account in accounts.values():
        account.rate_limiter.charge(5.0, account.rate, 2.0)
    assert await sharer.exchange() > 0.1
    assert [len(spendings) for spendings in quotas.asked] == [0, MAX_SPENDINGS, MAX_SPENDINGS, 500]
    assert all(account.full_at == pytest.approx(7.0) for account in accounts.values())


async def test_without_keys_nothing_is_asked() -> None:
    quotas = MemoryQuotas(Clock(5.0))
    await RateSharer(quotas, dict, Clock(0.0)).exchange()
    assert quotas.asked == []


async def test_another_journal_is_gone_to_and_one_that_is_away_is_said_once(
    autojump_clock: object, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = (MemoryQuotas(Clock(5.0)) for _ in range(2))
    is_away = True

    @asynccontextmanager
    async def opened() -> AsyncIterator[MemoryQuotas]:
        if is_away:
            raise JournalUnavailableError("redis://h", "gone")
        yield first

    @asynccontextmanager
    async def other() -> AsyncIterator[MemoryQuotas]:
        yield second

    account = KeyAccount(CreditCountingRateLimiter(), CreditRate(1.0, 9.0))
    rates = SharedRates(lambda: {KEY: account}, opened)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(rates.run)
        await trio.sleep(5)
        assert len(caplog.records) == 1
        is_away = False
        await trio.sleep(5)
        rates.open = other
        assert first.asked
        asked = len(first.asked)
        await trio.sleep(5)
        assert (len(first.asked), len(caplog.records)) == (asked, 1)
        assert second.asked
        nursery.cancel_scope.cancel()


RATES = st.builds(CreditRate, st.floats(1, 1e4), st.floats(1, 1e3), st.just(50.0))
STEPS = st.lists(
    st.tuples(st.floats(0, 0.1), st.integers(0, 2), st.sampled_from([1.0, 1.0, 5.0]), st.integers(1, 40)),
    min_size=1,
    max_size=40,
)


@given(RATES, STEPS)
async def test_all_machines_admit_the_rate_and_what_each_has_before_it_hears_of_others(
    rate: CreditRate, steps: list[tuple[float, int, float, int]]
) -> None:
    server, _quotas, nodes = machines(rate, 3)
    for each in nodes:
        await each.sharer.exchange()
    began, admitted = server.now, 0.0
    for pause, number, cost, calls in steps:
        server.now += pause
        admitted += cost * sum(nodes[number].is_admitted(cost) for _ in range(calls))
        for each in nodes * 2:
            await each.sharer.exchange()
        # One machine at a time spends, and a call dearer than the burst needs a full bucket.
        most = max(rate.burst, 5.0)
        assert admitted <= most + rate.per_second * (server.now - began) + 1e-3 * rate.per_second + 1e-3


@given(st.floats(1, 1e3), st.floats(1, 5), st.integers(1, 5), st.integers(10, 30))
async def test_machines_that_are_never_idle_share_the_rate(
    per_second: float, saved: float, count: int, rounds: int
) -> None:
    # What comes back between two looks at the clock has to find room.
    rate = CreditRate(per_second, saved + 0.05 * per_second)
    server, _quotas, nodes = machines(rate, count)
    for each in nodes:
        await each.sharer.exchange()
    admitted = 0
    for step in range(rounds * 10):
        server.now += 0.01
        for each in nodes:
            while each.is_admitted():
                admitted += 1
        if step % 10 == 9:
            for each in nodes:
                await each.sharer.exchange()
    came = rate.per_second * rounds * 0.1
    beyond = count * (rate.burst + 0.1 * rate.per_second) + 1
    assert came - count - 1 <= admitted <= rate.burst + came + beyond


@pytest.fixture
async def journal(redis: RedisServer) -> AsyncIterator[RedisJournal]:
    async with open_journal(JournalAddress.parse(redis.url), GENESIS) as opened:
        yield opened


@needs_redis
async def test_redis_adds_up_what_nodes_say(journal: RedisJournal) -> None:
    assert await journal.exchange([]) == {}
    first = await journal.exchange([KeySpending(KEY, 1000.0, 0.0, -9.0), KeySpending(OTHER, 0.0, 0.0, 500.0)])
    assert first == {KEY: pytest.approx(1000), OTHER: pytest.approx(500)}
    second = await journal.exchange([KeySpending(KEY, 500.25, 1.0, 0.0), KeySpending(OTHER, 0.0, 0.0, 100.0)])
    # Redis's own clock goes on meanwhile.
    assert 1400 < second[KEY] <= 1500.25
    assert 400 < second[OTHER] <= 500


@needs_redis
async def test_redis_dates_what_was_spent_by_the_nodes_own_count_within_bounds(journal: RedisJournal) -> None:
    said = {"early": 99.0, "between": 99.7, "late": 100.5}
    owing = await journal.exchange([KeySpending(key, 100.0, 0.5, own) for key, own in said.items()])
    # The reply is of the moment of the question, so it is exact.
    assert owing == pytest.approx({"early": 99.5, "between": 99.7, "late": 100.0}, abs=1e-5)
    missing = await journal.exchange([KeySpending(key, 50.0, 0.5, 500.0) for key in said])
    # Where credits are missing already, only what was spent counts.
    assert all(owing[key] + 40 < missing[key] <= owing[key] + 50 + 1e-5 for key in said)


@pytest.mark.slow
@needs_redis
async def test_redis_keeps_nothing_of_keys_that_have_all_their_credits(
    redis: RedisServer, journal: RedisJournal
) -> None:
    await journal.exchange([KeySpending(KEY, 0.0, 0.0, 0.0), KeySpending(OTHER, 1e-6, 0.5, 0.0)])
    while b":1" in redis.ask(f"EXISTS {QUOTA}"):
        assert len(await journal.exchange([])) <= 1
    assert redis.ask(f"EXISTS {QUOTA}") == b":0\r\n"
    await journal.exchange([KeySpending(KEY, 30.0, 0.0, 30.0)])
    assert 0 < int(redis.ask(f"TTL {QUOTA}")[1:]) <= 33
    assert KEY.encode() in redis.ask(f"ZRANGE {QUOTA} 0 -1")


@needs_redis
async def test_without_the_right_to_write_the_count_it_is_away(redis: RedisServer) -> None:
    redis.ask("ACL SETUSER reader on nopass ~*:log +@all")
    address = JournalAddress.parse(redis.url.replace("unix://", "unix://reader:any@"))
    with pytest.raises(JournalUnavailableError, match="ermission"):
        async with open_journal(address, GENESIS) as journal:
            await journal.exchange([])


@needs_redis
async def test_redis_takes_a_thousand_keys_at_once_and_very_long_debts(journal: RedisJournal) -> None:
    spendings = [KeySpending(f"{number:064x}", 1e9, 0.0, 1e9) for number in range(MAX_SPENDINGS)]
    owing = await journal.exchange(spendings)
    assert owing.keys() == {each.digest for each in spendings}
    assert all(seconds == pytest.approx(1e9) for seconds in owing.values())
