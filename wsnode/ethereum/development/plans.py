"""The settings of a development chain's next blocks: times, fees and limits."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import msgspec

from wsnode.ethereum.building.gas_limit import (
    GAS_LIMIT_TARGET,
    LEAST_GAS_LIMIT,
    MOST_GAS_LIMIT,
    gas_limit_after,
)
from wsnode.ethereum.building.next_block import NextBlock
from wsnode.ethereum.codec.rows import Header
from wsnode.ethereum.development.builder import BlockBuilder, random_value
from wsnode.ethereum.development.clock import BlockClock, Setting, TimeError
from wsnode.ethereum.development.control import ControlError
from wsnode.ethereum.primitives.values import Hash32

MOST_BASE_FEE: Final = (1 << 64) - 1


class Wishes(msgspec.Struct, frozen=True):
    """Settings of the next block; None leaves a member to the protocol's rules."""

    base_fee: int | None = None
    gas_limit: int | None = None
    prev_randao: Hash32 | None = None
    gas_limit_target: int | None = None
    """The target of the gas limit, for all later blocks."""

    @property
    def granted(self) -> "Wishes":
        """Return the settings that remain after a block has been made."""
        return Wishes(gas_limit_target=self.gas_limit_target)


NO_WISHES: Final = Wishes()


class Plans:
    """The clock and the wishes for one block, and what follows from them for it."""

    def __init__(
        self, builder: BlockBuilder, clock: BlockClock, *, gas_limit_target: int = GAS_LIMIT_TARGET
    ) -> None:
        self._builder = builder
        self._clock = clock
        self._gas_limit_target = gas_limit_target
        self._wishes = NO_WISHES

    @property
    def decided(self) -> tuple[Setting, Wishes]:
        """Return everything, for `decide` to set it again."""
        return self._clock.setting, self._wishes

    def decide(self, setting: Setting, wishes: Wishes) -> None:
        """Set everything."""
        self._clock.setting, self._wishes = setting, wishes

    def next_block(self, head: Header) -> NextBlock:
        """Return the attributes of a block made now after `head` that do not follow from the head."""
        wishes = self._wishes
        return NextBlock(
            timestamp=self._clock.next(head.timestamp),
            gas_limit=self._gas_limit_after(head) if wishes.gas_limit is None else wishes.gas_limit,
            prev_randao=random_value(head) if wishes.prev_randao is None else wishes.prev_randao,
            base_fee=wishes.base_fee,
        )

    def _take_next(self, head: Header) -> NextBlock:
        """Return the attributes of a block that is being made, and use up the settings."""
        following = self.next_block(head)
        self._clock.take(head.timestamp)
        self._wishes = self._wishes.granted
        return following

    def _gas_limit_after(self, head: Header) -> int:
        target = self._wishes.gas_limit_target
        return gas_limit_after(head.gas_limit, self._gas_limit_target if target is None else target)

    def increase_time(self, seconds: int) -> int:
        """Set the clock forward and return how far it is ahead by now.

        Raises:
            ControlError: No block can be as late.
        """
        with _refusing_times():
            return self._clock.increase(seconds, parent=self._builder.tip.timestamp)

    def set_time(self, timestamp: int) -> int:
        """Have it be that time now, and return how many seconds later than the world's that is.

        Raises:
            ControlError: No block can be as late.
        """
        with _refusing_times():
            return self._clock.set(timestamp)

    def set_next_timestamp(self, timestamp: int) -> None:
        """Give the next block exactly this time.

        Raises:
            ControlError: It is not later than the head's, or no block can be as late.
        """
        with _refusing_times():
            self._clock.set_next(timestamp, parent=self._builder.tip.timestamp)

    def set_timestamp_interval(self, seconds: int | None) -> bool:
        """Set the difference between two blocks' timestamps, and return whether one was set before."""
        before = self._clock.setting.interval
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
            raise ControlError(f"the gas limit of a block is {LEAST_GAS_LIMIT} to {MOST_GAS_LIMIT}")
        self._wish(gas_limit=gas_limit, gas_limit_target=gas_limit)

    def set_next_randao(self, prev_randao: Hash32) -> None:
        """Give the next block this random value."""
        self._wish(prev_randao=prev_randao)

    def _wish(self, **members: int | Hash32) -> None:
        self._wishes = msgspec.structs.replace(self._wishes, **members)


@contextmanager
def _refusing_times() -> Iterator[None]:
    try:
        yield
    except TimeError as error:
        raise ControlError(str(error)) from None
