"""Pending transactions that come twice: from other nodes, and into the pool."""

from tests.ethereum.live.arrived import Arrived
from wsnode.ethereum.live import pending_feed
from wsnode.ethereum.live.pending_feed import PendingFeed
from wsnode.pubsub.fan_out import FanOut

ONE, TWO = Arrived(b"1"), Arrived(b"2")


def test_what_was_heard_of_is_no_news_when_the_pool_gets_it_and_is_news_after_that() -> None:
    feed = PendingFeed(FanOut())
    feed.hear([ONE])
    feed.announce([ONE])
    assert feed.since(0) == [ONE]
    feed.announce([ONE, TWO])
    assert feed.since(0) == [ONE, ONE, TWO]


def test_what_the_pool_has_is_no_news_when_it_is_heard_of_and_is_news_after_that() -> None:
    feed = PendingFeed(FanOut())
    feed.announce([ONE])
    feed.hear([ONE])
    assert feed.since(0) == [ONE]
    feed.hear([ONE])
    feed.announce([TWO])
    feed.hear([TWO])
    assert feed.since(0) == [ONE, ONE, TWO]


def test_what_was_heard_of_is_forgotten_as_what_is_held_by_filters_is() -> None:
    feed = PendingFeed(FanOut())
    feed.hear([ONE])
    feed.hear([Arrived(number.to_bytes(3)) for number in range(pending_feed.KEPT)])
    feed.announce([ONE])
    assert feed.since(feed.count - 1) == [ONE]
