"""Each member gets exactly the events between its joining and leaving, or falls behind at the first
missed.
"""

import json
from collections.abc import Callable
from itertools import pairwise
from math import inf

import pytest
import trio
import trio.testing
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tests.drawing import examples
from tests.pubsub.recording import RecordingChannel
from tests.pubsub.subject import Faulty, Follower, numbered
from wsnode.pubsub.fan_out import FanOut, Group
from wsnode.pubsub.subscription import Event, FinalNotice

ONE_EVENT = numbered(0).size + 20
MEMBERS, GROUPS = 4, 2


def follower(fan_out: FanOut, room: int = 1 << 40) -> tuple[Follower, RecordingChannel, Group]:
    channel, group = RecordingChannel(room=room), Group(fan_out)
    member = Follower(channel, group)
    group.join(member)
    return member, channel, group


def numbers(texts: list[bytes]) -> list[int]:
    return [json.loads(text)["number"] for text in texts]


class Member:
    """One client, and the events it should have received since it last joined."""

    def __init__(self, groups: list[Group]) -> None:
        self.channel = RecordingChannel(room=3 * ONE_EVENT)
        self.follower = Follower(self.channel, groups[0])
        self.due: list[int] = []
        self.got: list[int] = []

    def collect(self) -> None:
        self.got += numbers(self.channel.sent)
        self.channel.sent.clear()


class Interleavings(RuleBasedStateMachine):
    """Any order of joining, leaving, publishing, reading and handing out."""

    def __init__(self) -> None:
        super().__init__()
        self.fan_out = FanOut()
        self.groups = [Group(self.fan_out) for _ in range(GROUPS)]
        self.members = [Member(self.groups) for _ in range(MEMBERS)]
        self.published = 0

    @rule(member=st.integers(0, MEMBERS - 1), group=st.integers(0, GROUPS - 1))
    def join(self, member: int, group: int) -> None:
        each = self.members[member]
        if each.follower.group is None:
            each.follower.missed.clear()
            each.due, each.got = [], []
            self.groups[group].join(each.follower)

    @rule(member=st.integers(0, MEMBERS - 1))
    def leave(self, member: int) -> None:
        each = self.members[member]
        if each.follower.group is not None:
            each.follower.group.leave(each.follower)
            each.due = list(each.got)

    @rule(group=st.integers(0, GROUPS - 1))
    def publish(self, group: int) -> None:
        for each in self.members:
            if each.follower.group is self.groups[group]:
                each.due.append(self.published)
        self.groups[group].publish(numbered(self.published), before=self.published)
        self.published += 1

    @rule(member=st.integers(0, MEMBERS - 1))
    def read(self, member: int) -> None:
        self.members[member].channel.read()

    @rule()
    def hand_out_one(self) -> None:
        self.fan_out.advance(-inf)

    @rule()
    def hand_out_all(self) -> None:
        self.fan_out.advance(inf)
        assert self.fan_out.queued_bytes == 0
        for each in self.members:
            each.collect()
            if each.follower.group is not None:
                assert each.got == each.due

    @invariant()
    def nobody_has_got_anything_else(self) -> None:
        for each in self.members:
            each.collect()
            assert each.got == each.due[: len(each.got)]
            if each.follower.missed:
                assert each.follower.group is None
                assert each.follower.missed == [(each.due[len(each.got)], 1)]


TestInterleavings = Interleavings.TestCase
TestInterleavings.settings = settings(max_examples=examples(150), stateful_step_count=40)


def test_all_of_an_event_is_sent_or_nothing() -> None:
    fan_out = FanOut()
    member, channel, group = follower(fan_out, room=100)
    group.publish(Event([(b"a" * 10, b""), (b"b" * 10, b"")]), before="start")
    group.publish(Event([(b"c", b""), (b"d", b""), (b"e", b"")]), before="middle")
    group.publish(Event([(b"f", b"")]), before="end")
    fan_out.advance(inf)
    assert channel.sent == [b"a" * 10 + member.identity, b"b" * 10 + member.identity]
    assert member.missed == [("middle", 3)]


def test_who_joins_after_an_event_was_published_does_not_get_it() -> None:
    fan_out = FanOut()
    _, _, group = follower(fan_out)
    group.publish(numbered(1), before=0)
    channel = RecordingChannel()
    group.join(late := Follower(channel, group))
    group.publish(numbered(2), before=1)
    fan_out.advance(inf)
    assert numbers(channel.sent) == [2]
    assert late.missed == []


def test_who_ends_gets_nothing_more_and_the_last_one_empties_the_group() -> None:
    fan_out, emptied = FanOut(), list[bool]()
    group = Group(fan_out, lambda: emptied.append(True))
    channel = RecordingChannel()
    members = [Follower(channel, group) for _ in range(2)]
    for member in members:
        group.join(member)
    group.publish(numbered(1), before=0)
    for member in members:
        member.end()
        member.end()
    fan_out.advance(inf)
    assert channel.sent == []
    assert (len(group), emptied) == (0, [True])


def test_what_nobody_would_get_is_not_queued() -> None:
    fan_out = FanOut()
    Group(fan_out).publish(numbered(1), before=0)
    assert fan_out.sequence == 0


def test_more_than_can_be_handed_out_makes_everybody_fall_behind() -> None:
    fan_out = FanOut(queue_bytes=2 * ONE_EVENT)
    member, channel, group = follower(fan_out)
    for number in range(10):
        group.publish(numbered(number, ONE_EVENT), before=number)
    assert fan_out.queued_bytes < 6 * ONE_EVENT
    fan_out.advance(inf)
    assert numbers(channel.sent) == [0, 1]
    assert member.missed == [(2, 1)]


@pytest.mark.parametrize("gives_up", [False, True], ids=["in time", "at the end"])
def test_a_group_is_closed_behind_what_was_published_and_those_that_come_later_are_not(
    gives_up: bool,
) -> None:
    fan_out = FanOut()
    member, channel, group = follower(fan_out)
    group.publish(numbered(0), before=0)
    group.close(FinalNotice(1011, "a reason"))
    group.publish(numbered(1), before=1)
    late = RecordingChannel()
    group.join(Follower(late, group))
    group.publish(numbered(2), before=2)
    if gives_up:
        fan_out.give_up()
    else:
        fan_out.advance(inf)
        assert (numbers(channel.sent), numbers(late.sent)) == ([0], [2])
        assert (member.group, member.missed) == (None, [])
        assert channel.closed == (1011, "a reason")
    assert late.closed is None


@pytest.mark.parametrize("bug", ["fall_behind", "begin", "final_notice"])
def test_a_bug_of_one_subscription_is_not_felt_by_the_others(bug: str) -> None:
    fan_out = FanOut()
    group = Group(fan_out)
    faulty, sound = RecordingChannel(room=0), RecordingChannel()
    subscription = Faulty(faulty, group)
    faulty.subscriptions.add(subscription)
    acts: dict[str, Callable[[], None]] = {
        "fall_behind": lambda: group.join(subscription),
        "begin": faulty.post_reply,
        "final_notice": lambda: faulty.subscriptions.final_notice(),
    }
    acts[bug]()
    group.join(Follower(sound, group))
    group.publish(numbered(1), before=0)
    fan_out.advance(inf)
    assert numbers(sound.sent) == [1]
    assert faulty.sent == []
    assert faulty.closed == (None if bug == "final_notice" else (1011, ""))


class BrokenChannel(RecordingChannel):
    """Can neither be sent anything nor closed."""

    def offer(self, identity: bytes, event: Event) -> bool:
        raise RuntimeError("a bug")

    def close(self, code: int, reason: str) -> None:
        raise RuntimeError("another one")


def test_a_bug_of_one_connection_is_not_felt_by_the_others(caplog: pytest.LogCaptureFixture) -> None:
    fan_out = FanOut()
    group = Group(fan_out)
    broken, sound = Follower(BrokenChannel(), group), Follower(RecordingChannel(), group)
    for follower in (broken, sound):
        follower.begin()
    for number in range(2):
        group.publish(numbered(number), before=number)
        fan_out.advance(inf)
    assert isinstance(sound.channel, RecordingChannel)
    assert len(sound.channel.sent) == 2
    assert (broken.ended, len(group)) == (True, 1)
    assert [record.message for record in caplog.records] == [
        "no event reaches a numbers subscription; its connection is closed",
        "the connection of a failed subscription cannot be closed",
    ]


async def test_all_can_be_handed_out_while_others_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wsnode.pubsub.fan_out.SLICE_SECONDS", -1.0)
    fan_out = FanOut()
    _, channel, group = follower(fan_out)
    group.publish(numbered(1), before=0)

    async def publish() -> None:
        group.publish(numbered(2), before=1)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(publish)
        await fan_out.finish()
    await fan_out.finish()
    assert numbers(channel.sent) == [1, 2]


async def test_what_is_published_meanwhile_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wsnode.pubsub.fan_out.SLICE_SECONDS", -1.0)
    fan_out = FanOut()
    _, channel, group = follower(fan_out)
    for number in range(3):
        group.publish(numbered(number), before=number)
    offered = channel.offer

    def offer(identity: bytes, event: Event) -> bool:
        # So that there is always another one.
        group.publish(numbered(3), before=3)
        return offered(identity, event)

    monkeypatch.setattr(channel, "offer", offer)
    await fan_out.deliver_published()
    # The last slice may have begun with another one.
    assert numbers(channel.sent) in ([0, 1, 2], [0, 1, 2, 3])
    assert fan_out.queued_bytes


def test_what_is_given_up_is_told_to_those_who_miss_it() -> None:
    fan_out = FanOut()
    group = Group(fan_out)
    channels = [RecordingChannel() for _ in range(3)]
    members = [Follower(channel, group) for channel in channels]
    for member in members:
        group.join(member)
    for number in range(3):
        group.publish(numbered(number), before=number)
    for _ in range(4):
        fan_out.advance(-inf)
    fan_out.give_up()
    assert [numbers(channel.sent) for channel in channels] == [[0, 1], [0], [0]]
    assert [member.missed for member in members] == [[(2, 1)], [(1, 1)], [(1, 1)]]
    assert fan_out.queued_bytes == 0


async def test_others_run_between_two_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wsnode.pubsub.fan_out.SLICE_SECONDS", -1.0)
    fan_out = FanOut()
    group = Group(fan_out)
    channels = [RecordingChannel() for _ in range(20)]
    for channel in channels:
        group.join(Follower(channel, group))
    seen: list[int] = []

    async def watch() -> None:
        while len(seen) < 100:
            seen.append(sum(len(channel.sent) for channel in channels))
            await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(fan_out.run)
        group.publish(numbered(1), before=0)
        await watch()
        assert seen[0] == 0
        assert seen[-1] == 20
        assert all(later - earlier <= 2 for earlier, later in pairwise(seen))
        group.publish(numbered(2), before=1)
        await trio.testing.wait_all_tasks_blocked()
        assert all(numbers(channel.sent) == [1, 2] for channel in channels)
        nursery.cancel_scope.cancel()
