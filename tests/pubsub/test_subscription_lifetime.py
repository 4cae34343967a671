"""The subscriptions of one connection, from the call that makes them to the last notice."""

import json

import pytest

from tests.pubsub.recording import RecordingChannel
from tests.pubsub.subject import Follower, last_word, numbered
from wsnode.jsonrpc.resource_quota import ResourceQuota
from wsnode.pubsub.fan_out import FanOut, Group
from wsnode.pubsub.subscription import IDENTITY_BYTES


class Full:
    """Allows no subscription."""

    client = None

    @property
    def live_calls(self) -> ResourceQuota:
        raise AssertionError

    def take(self, kind: str) -> None:
        raise PermissionError(kind)

    def give_back(self, kind: str) -> None:
        raise AssertionError

    def charge(self, calls: int) -> None:
        raise AssertionError


@pytest.fixture
def group() -> Group:
    return Group(FanOut())


def test_a_subscription_begins_after_the_reply(group: Group) -> None:
    channel = RecordingChannel()
    channel.subscriptions.add(follower := Follower(channel, group))
    assert len(group) == 0
    channel.post_reply()
    assert follower.group is group
    channel.post_reply()
    assert len(group) == 1


def test_ids_are_long_and_never_the_same(group: Group) -> None:
    channel = RecordingChannel()
    identities = {Follower(channel, group).identity for _ in range(1000)}
    assert len(identities) == 1000
    assert {len(identity) for identity in identities} == {IDENTITY_BYTES}
    assert all(int(identity, 16) for identity in identities)


def test_one_that_is_removed_before_its_reply_never_begins(group: Group) -> None:
    channel = RecordingChannel()
    channel.subscriptions.add(follower := Follower(channel, group))
    assert channel.subscriptions.remove(follower.identity)
    assert not channel.subscriptions.remove(follower.identity)
    channel.post_reply()
    assert follower.ended
    assert (len(group), channel.quota.taken) == (0, [])


def test_one_that_is_not_allowed_is_not_there(group: Group) -> None:
    channel = RecordingChannel()
    subscriptions = type(channel.subscriptions)(channel, Full())
    with pytest.raises(PermissionError, match="numbers"):
        subscriptions.add(Follower(channel, group))
    assert (len(subscriptions), subscriptions.take_pending()) == (0, [])


def test_all_end_with_the_connection(group: Group) -> None:
    channel = RecordingChannel()
    for _ in range(3):
        channel.subscriptions.add(Follower(channel, group))
    channel.post_reply()
    channel.subscriptions.add(Follower(channel, group))
    assert len(channel.subscriptions) == 4
    channel.subscriptions.end_all()
    channel.post_reply()
    assert (len(channel.subscriptions), len(group), channel.quota.taken) == (0, 0, [])


def test_each_is_told_goodbye_behind_its_reply_and_then_nothing(group: Group) -> None:
    channel = RecordingChannel()
    channel.subscriptions.add(first := Follower(channel, group))
    channel.post_reply()
    channel.subscriptions.add(second := Follower(channel, group))
    held = channel.subscriptions.take_pending()
    channel.subscriptions.final_notice()
    assert [json.loads(text)["to"] for text in channel.sent] == [first.identity.decode()]
    channel.subscriptions.release(held)
    assert [json.loads(text) for text in channel.sent] == [
        {"to": each.identity.decode(), "last": True} for each in (first, second)
    ]
    first.deliver(numbered(1))
    assert len(channel.sent) == 2
    assert (len(group), channel.quota.taken) == (0, [])


def test_an_event_knows_its_size() -> None:
    event = last_word()
    ((before, after),) = event.messages
    assert event.size == len(before + b"0x" + b"0" * 32 + after)
