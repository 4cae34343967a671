"""The settings of a development chain's next blocks: times, fees and limits."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import msgspec

from wsnode.ethereum.building.gas_limit import (
    ARBITRUM_TARGET,
    GAS_LIMIT_TARGET,
    LEAST_GAS_LIMIT,
    MOST_GAS_LIMIT,
    NO_GAS_LIMIT,
    gas_limit_after,
)
from wsnode.ethereum.building.next_block import NextBlockAttributes
from wsnode.ethereum.codec.rows import Header
from wsnode.ethereum.development.builder import BlockBuilder, random_value
from wsnode.ethereum.development.clock import BlockClock, ClockSetting, TimeError
from wsnode.ethereum.development.control import ControlError
from wsnode.ethereum.primitives.values import Hash32

MOST_BASE_FEE: Final = (1 << 64) - 1


class NextBlockOverrides(msgspec.Struct, frozen=True):
    """Settings of the next block; None leaves a member to the protocol's rules."""

    base_fee: int | None = None
    gas_limit: int | None = None
    prev_randao: Hash32 | None = None
    gas_limit_target: int | None = None
    """The target of the gas limit, for all later blocks."""

    @property
    def granted(self) -> "NextBlockOverrides":
        """Return the settings that remain after a block has been made."""
        return NextBlockOverrides(gas_limit_target=self.gas_limit_target)


NO_WISHES: Final = NextBlockOverrides()


class NextBlockPlans:
    """The clock and the wishes for one block, and what follows from them for it."""

    def __init__(
        self, builder: BlockBuilder, clock: BlockClock, *, gas_limit_target: int = GAS_LIMIT_TARGET
    ) -> None:
        self._builder = builder
        self._clock = clock
        self._gas_limit_target = gas_limit_target
        self._overrides = NO_WISHES

    @property
    def decided(self) -> tuple[ClockSetting, NextBlockOverrides]:
        """Return everything, for `decide` to set it again."""
        return self._clock.setting, self._overrides

    def decide(self, setting: ClockSetting, overrides: NextBlockOverrides) -> None:
        """Set everything."""
        self._clock.setting, self._overrides = setting, overrides

    def next_block(self, head: Header) -> NextBlockAttributes:
        """Return the attributes of a block made now after `head` that do not follow from the head."""
        overrides = self._overrides
        return NextBlockAttributes(
            timestamp=self._clock.next(head.timestamp),
            gas_limit=self._gas_limit_after(head) if overrides.gas_limit is None else overrides.gas_limit,
            prev_randao=random_value(head) if overrides.prev_randao is None else overrides.prev_randao,
            base_fee=overrides.base_fee,
            may_lack_requests=True,
        )

    def _take_next(self, head: Header) -> NextBlockAttributes:
        """Return the attributes of a block that is being made, and use up the settings."""
        following = self.next_block(head)
        self._clock.take(head.timestamp)
        self._overrides = self._overrides.granted
        return following

    def _gas_limit_after(self, head: Header) -> int:
        target = self._overrides.gas_limit_target
        if target is None:
            is_usual = self._builder.has_arbos and self._gas_limit_target == GAS_LIMIT_TARGET
            target = ARBITRUM_TARGET if is_usual else self._gas_limit_target
        if self._builder.has_arbos and head.gas_limit == NO_GAS_LIMIT:
            return target
        return gas_limit_after(head.gas_limit, target)

    def increase_time(self, seconds: int) -> int:
        """Set the clock forward and return how far it is ahead by now.

        Raises:
            ControlError: No block can be as late.
        """
        with _refusing_times():
            return self._clock.increase(seconds, parent=self._builder.tip.timestamp)

    def set_time(self, timestamp: int) -> int:
        """Have it be that time now, and return how many seconds later that is than it was.

        Raises:
            ControlError: It is earlier than the head's, or no block can be as late.
        """
        with _refusing_times():
            return self._clock.set(timestamp, parent=self._builder.tip.timestamp)

    def set_next_timestamp(self, timestamp: int) -> None:
        """Give the next block exactly this time.

        Raises:
            ControlError: It is not later than the head's, or no block can be as late.
        """
        with _refusing_times():
            self._clock.set_next(timestamp, parent=self._builder.tip.timestamp)

    def set_timestamp_interval(self, seconds: int | None) -> bool:
        """Set the difference between two blocks' timestamps, and return whether one was set before.

        Raises:
            ControlError: It is 0.
        """
        before = self._clock.setting.interval
        with _refusing_times():
            self._clock.set_interval(seconds)
        return before is not None

    def set_next_base_fee(self, base_fee: int) -> None:
        """Give the next block this base fee, in wei.

        Raises:
            ControlError: It has more than 64 bits.
        """
        if base_fee > MOST_BASE_FEE:
            raise ControlError("the base fee is too big")
        self._wish(base_fee=base_fee)

    def set_gas_limit(self, gas_limit: int) -> None:
        """Give the next block this gas limit, and the later ones.

        Raises:
            ControlError: No block can have it.
        """
        if not LEAST_GAS_LIMIT <= gas_limit <= MOST_GAS_LIMIT:
            raise ControlError(
                f"the gas limit of a block is {LEAST_GAS_LIMIT} to {MOST_GAS_LIMIT}, not {gas_limit}: "
                "as on every verified chain, no other block is valid"
            )
        self._wish(gas_limit=gas_limit, gas_limit_target=gas_limit)

    def set_next_randao(self, prev_randao: Hash32) -> None:
        """Give the next block this random value."""
        self._wish(prev_randao=prev_randao)

    def _wish(self, **members: int | Hash32) -> None:
        self._overrides = msgspec.structs.replace(self._overrides, **members)


@contextmanager
def _refusing_times() -> Iterator[None]:
    try:
        yield
    except TimeError as error:
        raise ControlError(str(error)) from None
