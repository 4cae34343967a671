"""State of one beacon node: whether requests are sent to it, and the faults of its last answer."""

import logging
from random import uniform
from typing import Any, Final

import trio

from wsnode.sync.follow.beacon.api import BeaconApi

FIRST_PAUSE: Final = 0.5
MAX_PAUSE: Final = 30.0

logger = logging.getLogger("wsnode.follow")


class BeaconNode:
    """Beacon node that sends updates to the light client, with its failures, pauses and stream of events."""

    def __init__(self, name: str, api: BeaconApi) -> None:
        self.name = name
        self.api = api
        self.why = ""
        """Reason of the node's last failure; empty after a valid update."""
        self.left_until = 0.0
        self.attested_slot: int | None = None
        self.failures = 0
        self.ahead_slots: int | None = None
        """Slots from the clock to the signature of the node's last answer if that is in the future, or
        None.
        """
        self.unsupported: str | None = None
        """Refusal of the node's last answer, if that is of a fork unknown to this release."""
        self.is_identified = True
        """True if the node is known to be of the right chain; before, no updates are requested from it."""
        self.is_dropped = False
        """True if the configuration no longer names the node."""
        self.lacks_checkpoint = False
        """True if the node has answered that it does not have the checkpoint's block."""
        self.asked_epoch = -1
        """Epoch of the clock at the last request for the newest updates."""
        self.is_asked = False
        """True while a request for the newest updates is running."""
        self.is_listened = False
        """True while a stream of the node's events is open."""
        self._events_pause = FIRST_PAUSE
        self._events_from = 0.0

    def __str__(self) -> str:
        return self.name

    @property
    def is_usable(self) -> bool:
        """Return True if requests may be sent to the node now."""
        return self.is_identified and not self.is_dropped and trio.current_time() >= self.left_until

    @property
    def has_events(self) -> bool:
        """Return True if a stream of the node's events may be opened: none is open, and the pause is over."""
        return self.is_usable and not self.is_listened and trio.current_time() >= self._events_from

    def told(self) -> None:
        """Note an event: the pause after the end of the stream is the shortest again."""
        self._events_pause = FIRST_PAUSE

    def ended(self) -> None:
        """Note the end of the stream of events, or its absence; pauses before the next grow to 30 s."""
        self._events_from = trio.current_time() + self._events_pause * uniform(0.5, 1.5)
        self._events_pause = min(2 * self._events_pause, MAX_PAUSE)

    @property
    def state(self) -> str:
        """Return the node's state: "followed", "quarantined", or "connecting" before it is identified."""
        if self.is_usable:
            return "followed"
        return "quarantined" if trio.current_time() < self.left_until else "connecting"

    def fail(self, why: str, seconds: float = 0.0) -> None:
        """Note a failed or invalid answer, and send the node no requests for `seconds`."""
        self.failures += 1
        if self.why != why:
            logger.warning("beacon %s: %s", self, why)
        self.why, self.left_until = why, trio.current_time() + seconds

    def members(self, clock_slot: int | None) -> dict[str, Any]:
        """Return the node's entry in `wsnode_status`; `lag` is in slots of the clock."""
        slot = self.attested_slot
        return {
            "url": str(self),
            "state": self.state,
            "attestedSlot": slot,
            "lag": None if slot is None or clock_slot is None else clock_slot - slot,
            "failures": self.failures,
            **({"why": self.why} if self.why else {}),
        }
