"""One beacon node as those see it that ask it: whether it is asked, and what it gave last."""

import logging
from random import uniform
from typing import Any, Final

import trio

from wsnode.sync.follow.beacon.api import BeaconApi

FIRST_PAUSE: Final = 0.5
LONGEST_PAUSE: Final = 30.0

logger = logging.getLogger("wsnode.follow")


class BeaconNode:
    """One beacon node, and how it stands."""

    def __init__(self, name: str, api: BeaconApi) -> None:
        self.name = name
        self.api = api
        self.why = ""
        """Why it was left alone last, or gave no answer."""
        self.left_until = 0.0
        self.attested_slot: int | None = None
        self.failures = 0
        self.ahead_slots: int | None = None
        """By how many slots its last answer was signed in the future, None where it was not."""
        self.unsupported: str | None = None
        """Why its last answer cannot be read here, if it is of a fork that is not known."""
        self.is_identified = True
        """Whether it is a node of the right chain; what is not known yet is not asked for heads."""
        self.is_dropped = False
        """Whether the configuration names it no more."""
        self.lacks_checkpoint = False
        """Whether it says that it has no such block."""
        self.asked_epoch = -1
        """Epoch of the clock in which it was asked last."""
        self.is_asked = False
        """Whether its newest updates are being asked for."""
        self.is_listened = False
        """Whether its events are listened to."""
        self._events_pause = FIRST_PAUSE
        self._events_from = 0.0

    def __str__(self) -> str:
        return self.name

    @property
    def is_usable(self) -> bool:
        """Return whether it is asked now."""
        return self.is_identified and not self.is_dropped and trio.current_time() >= self.left_until

    @property
    def has_events(self) -> bool:
        """Return whether its events may be listened to: nobody does, and it may have some by now."""
        return self.is_usable and not self.is_listened and trio.current_time() >= self._events_from

    def told(self) -> None:
        """Take note of an event: if they end, they are asked for again soon."""
        self._events_pause = FIRST_PAUSE

    def ended(self) -> None:
        """Take note of the end of its events, or that it has none; pauses grow to 30 s."""
        self._events_from = trio.current_time() + self._events_pause * uniform(0.5, 1.5)
        self._events_pause = min(2 * self._events_pause, LONGEST_PAUSE)

    @property
    def state(self) -> str:
        """Return in a word what is done with it."""
        if self.is_usable:
            return "followed"
        return "quarantined" if trio.current_time() < self.left_until else "connecting"

    def fail(self, why: str, seconds: float = 0.0) -> None:
        """Take note of an answer that cannot be used, and leave the node alone for so long."""
        self.failures += 1
        if self.why != why:
            logger.warning("beacon %s: %s", self, why)
        self.why, self.left_until = why, trio.current_time() + seconds

    def members(self, clock_slot: int | None) -> dict[str, Any]:
        """Return what `wsnode_status` tells of it in a slot of the clock, if that is known."""
        slot = self.attested_slot
        return {
            "url": str(self),
            "state": self.state,
            "attestedSlot": slot,
            "lag": None if slot is None or clock_slot is None else clock_slot - slot,
            "failures": self.failures,
            **({"why": self.why} if self.why else {}),
        }
