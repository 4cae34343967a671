"""Clock of a development chain, which tests may set.

The rules are anvil's (its `TimeManager`), with one exception: a block is always later than its parent,
because the chain is verified like any other.
"""

import time
from collections.abc import Callable
from typing import Final

import msgspec

from wsnode.ethereum.development.control import ControlError

LATEST: Final = (1 << 63) - 1
"""Latest time to which the clock can be set; later blocks are one second apart."""


VERIFIED: Final = "as on every verified chain, a block is later than its parent"
"""Reason of the error where anvil lets time go backwards."""


def _checked(timestamp: int) -> int:
    if timestamp > LATEST:
        raise ControlError("The timestamp is too big")
    return timestamp


class ClockSetting(msgspec.Struct, frozen=True):
    """Setting of a development chain's clock, in seconds: `offset` is its lead over the system clock,
    `next_exact` the timestamp of the next block, `interval` the time between the timestamps of two blocks;
    None if not set.
    """

    offset: int = 0
    next_exact: int | None = None
    interval: int | None = None


class BlockClock:
    """Clock from which a development chain's blocks get their timestamps, in whole seconds since 1970;
    clients can move it.
    """

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self.setting = ClockSetting()

    def increase(self, seconds: int, *, parent: int = 0) -> int:
        """Set the clock forward, and return the seconds by which it is now ahead of the system clock.

        With many blocks a second, timestamps are ahead of the clock: it then continues from that of `parent`,
        the last block.

        Raises:
            ControlError: The time is later than any block's can be.
        """
        offset = self.setting.offset + seconds
        if seconds:
            offset += max(parent - int(self._now()) - self.setting.offset, 0)
        _checked(int(self._now()) + offset)
        self.setting = msgspec.structs.replace(self.setting, offset=offset)
        return offset

    def set(self, timestamp: int, *, parent: int = 0) -> int:
        """Set the clock to `timestamp`, after a block with time `parent`; return the change in seconds, maybe
        negative.

        Raises:
            ControlError: The time is earlier than `parent`, or later than any block's can be.
        """
        if timestamp < parent:
            raise ControlError(
                f"Timestamp error: {timestamp} is lower than previous block's timestamp {parent}; {VERIFIED}",
            )
        now, before = int(self._now()), self.setting.offset
        offset = _checked(timestamp) - now
        self.setting = msgspec.structs.replace(self.setting, offset=offset, next_exact=None)
        return offset - before

    def set_next(self, timestamp: int, *, parent: int) -> None:
        """Set the exact time of the block after one with time `parent`.

        Raises:
            ControlError: The time is not later than `parent`, or later than any block's can be.
        """
        if timestamp <= parent:
            raise ControlError(
                f"Timestamp error: {timestamp} is lower than or equal to previous block's timestamp "
                f"{parent}; {VERIFIED}",
            )
        self.setting = msgspec.structs.replace(self.setting, next_exact=_checked(timestamp))

    def set_interval(self, seconds: int | None) -> None:
        """Set the difference of two blocks' timestamps in seconds, whatever the real time between them; None
        ends that.

        Raises:
            ControlError: The difference is 0.
        """
        if seconds == 0:
            raise ControlError(f"the interval is at least 1 second: {VERIFIED}")
        self.setting = msgspec.structs.replace(self.setting, interval=seconds)

    def next(self, parent: int) -> int:
        """Return the timestamp of a block made now on a block with time `parent`."""
        return max(min(self._chosen(parent), LATEST), parent + 1)

    def take(self, parent: int) -> int:
        """Return the timestamp of a block being made, and end the setting of an exact time."""
        timestamp = self.next(parent)
        if self.setting.next_exact is not None:
            self.set(self.setting.next_exact)
        return timestamp

    def _chosen(self, parent: int) -> int:
        setting = self.setting
        if setting.next_exact is not None:
            return setting.next_exact
        if setting.interval is not None:
            return parent + setting.interval
        return int(self._now()) + setting.offset
