"""Settings of a development chain's next blocks: times, fees and limits."""

from typing import Final

import msgspec

from wsnode.ethereum.building.gas_limit import (
    ARBITRUM_TARGET,
    GAS_LIMIT_TARGET,
    MAX_GAS_LIMIT,
    MIN_GAS_LIMIT,
    NO_GAS_LIMIT,
    gas_limit_after,
)
from wsnode.ethereum.building.next_block import NextBlockAttributes
from wsnode.ethereum.codec.rows import Header
from wsnode.ethereum.development.builder import BlockBuilder, random_value
from wsnode.ethereum.development.clock import BlockClock, ClockSetting
from wsnode.ethereum.development.control import ControlError
from wsnode.ethereum.primitives.values import Hash32

MAX_BASE_FEE: Final = (1 << 64) - 1


class NextBlockOverrides(msgspec.Struct, frozen=True):
    """Values that clients have set for the next block's header, with base fee in wei; None derives a value by
    the protocol's rules.
    """

    base_fee: int | None = None
    gas_limit: int | None = None
    prev_randao: Hash32 | None = None
    gas_limit_target: int | None = None
    """Target of the gas limit, for all later blocks."""

    @property
    def granted(self) -> "NextBlockOverrides":
        """Return the settings that remain after a block has been made."""
        return NextBlockOverrides(gas_limit_target=self.gas_limit_target)


NO_WISHES: Final = NextBlockOverrides()


class NextBlockPlans:
    """Plan of the next block of a development chain: its clock, the header values set by clients, and the
    attributes that follow from both.
    """

    def __init__(
        self, builder: BlockBuilder, clock: BlockClock, *, gas_limit_target: int = GAS_LIMIT_TARGET
    ) -> None:
        self._builder = builder
        self._clock = clock
        self._gas_limit_target = gas_limit_target
        self._overrides = NO_WISHES

    @property
    def decided(self) -> tuple[ClockSetting, NextBlockOverrides]:
        """Return the clock's setting and the next block's settings, for `decide` to restore."""
        return self._clock.setting, self._overrides

    def decide(self, setting: ClockSetting, overrides: NextBlockOverrides) -> None:
        self._clock.setting, self._overrides = setting, overrides

    def next_block(self, head: Header) -> NextBlockAttributes:
        """Return the attributes of a block made on `head` now, apart from those that follow from `head`."""
        overrides = self._overrides
        return NextBlockAttributes(
            timestamp=self._clock.next(head.timestamp),
            gas_limit=self._gas_limit_after(head) if overrides.gas_limit is None else overrides.gas_limit,
            prev_randao=random_value(head) if overrides.prev_randao is None else overrides.prev_randao,
            base_fee=overrides.base_fee,
            may_lack_requests=True,
        )

    def _take_next(self, head: Header) -> NextBlockAttributes:
        """Return the attributes of a block being made on `head`; settings for one block are used up."""
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
        """Set the clock forward, and return the seconds by which it is now ahead of the system clock.

        Raises:
            ControlError: The time is later than any block's can be.
        """
        return self._clock.increase(seconds, parent=self._builder.tip.timestamp)

    def set_time(self, timestamp: int) -> int:
        """Set the clock to `timestamp`, and return the change in seconds, maybe negative.

        Raises:
            ControlError: The time is earlier than the head's, or later than any block's can be.
        """
        return self._clock.set(timestamp, parent=self._builder.tip.timestamp)

    def set_next_timestamp(self, timestamp: int) -> None:
        """Set the exact time of the next block.

        Raises:
            ControlError: The time is not later than the head's, or later than any block's can be.
        """
        self._clock.set_next(timestamp, parent=self._builder.tip.timestamp)

    def set_timestamp_interval(self, seconds: int | None) -> bool:
        """Set the difference of two blocks' timestamps in seconds; return True if one was set before.

        Raises:
            ControlError: The difference is 0.
        """
        before = self._clock.setting.interval
        self._clock.set_interval(seconds)
        return before is not None

    def set_next_base_fee(self, base_fee: int) -> None:
        """Set the base fee of the next block, in wei.

        Raises:
            ControlError: The fee exceeds 64 bits.
        """
        if base_fee > MAX_BASE_FEE:
            raise ControlError("the base fee exceeds 64 bits")
        self._wish(base_fee=base_fee)

    def set_gas_limit(self, gas_limit: int) -> None:
        """Set the gas limit of the next block and of later ones, in gas.

        Raises:
            ControlError: No valid block has this gas limit.
        """
        if not MIN_GAS_LIMIT <= gas_limit <= MAX_GAS_LIMIT:
            raise ControlError(
                f"the gas limit of a block is {MIN_GAS_LIMIT} to {MAX_GAS_LIMIT}, not {gas_limit}: "
                "as on every verified chain, no other block is valid"
            )
        self._wish(gas_limit=gas_limit, gas_limit_target=gas_limit)

    def set_next_randao(self, prev_randao: Hash32) -> None:
        self._wish(prev_randao=prev_randao)

    def _wish(self, **members: int | Hash32) -> None:
        self._overrides = msgspec.structs.replace(self._overrides, **members)
