"""evm_setNextBlockTimestamp, anvil_setNextBlockBaseFeePerGas …: settings of the next blocks."""

import msgspec

from wsnode.ethereum.development.control import DevelopmentControl
from wsnode.ethereum.primitives.values import Hash32
from wsnode.ethereum.rpc.development.mining import TRUE, SecondsParameters, Steps, boolean, done, refusals
from wsnode.ethereum.rpc.development.parameters import LenientCount, LenientNumber
from wsnode.ethereum.rpc.development.schemas import ALWAYS_TRUE, NOTHING
from wsnode.ethereum.rpc.form.results import NULL
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.schema import BOOLEAN, COUNT


class WeiParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[wei]`."""

    wei: LenientNumber


class GasParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[gas]`."""

    gas: LenientNumber


class RandomValueParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[value]`."""

    value: Hash32


class Clock:
    """The methods that set the time of the next blocks."""

    def __init__(self, control: DevelopmentControl) -> None:
        self._control = control

    def increase(self, params: SecondsParameters) -> bytes:
        """Return the seconds by which the chain's clock is now ahead of the system clock."""
        with refusals():
            return b"%d" % self._control.increase_time(params.seconds)

    def set(self, params: SecondsParameters) -> bytes:
        """Return the seconds by which the chain's clock is now ahead of the system clock, 0 if it is
        behind.
        """
        with refusals():
            return b"%d" % max(self._control.set_time(params.seconds), 0)

    def set_next(self, params: SecondsParameters) -> bytes:
        """Return null; the next block will have this timestamp."""
        with refusals():
            self._control.set_next_timestamp(params.seconds)
        return NULL

    def set_interval(self, params: SecondsParameters) -> bytes:
        """Return null; from now on the timestamps of two blocks differ by `seconds`."""
        self._control.set_timestamp_interval(params.seconds)
        return NULL

    def remove_interval(self) -> bytes:
        """Return whether a fixed difference between timestamps was set, and remove it."""
        return boolean(self._control.set_timestamp_interval(None))


class ChainIdParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[chain id]`."""

    chain_id: LenientCount


class Wanted:
    """The methods that set other members of the next blocks' headers."""

    def __init__(self, control: DevelopmentControl) -> None:
        self._control = control

    def base_fee(self, params: WeiParameters) -> bytes:
        """Return null; the next block will have this base fee in wei, from which those of later blocks
        follow.
        """
        with refusals():
            self._control.set_next_base_fee(params.wei)
        return NULL

    def hardhat_base_fee(self, params: WeiParameters) -> bytes:
        """Return true; the next block will have this base fee in wei, from which those of later blocks
        follow.
        """
        self.base_fee(params)
        return TRUE

    def gas_limit(self, params: GasParameters) -> bytes:
        """Return true; the next blocks will have this gas limit."""
        with refusals():
            self._control.set_gas_limit(params.gas)
        return TRUE

    def chain_id(self, params: ChainIdParameters) -> Steps:
        """Return null once new blocks and all calls have this chain id."""
        yield from done(lambda: self._control.set_chain_id(params.chain_id))
        return NULL

    def random_value(self, params: RandomValueParameters) -> bytes:
        """Return true; the next block will have this random value (`prevRandao`)."""
        self._control.set_next_randao(params.value)
        return TRUE


def add_methods(registry: Registry, control: DevelopmentControl) -> None:
    """Register this module's methods."""
    clock, wanted = Clock(control), Wanted(control)
    for handler, result, names in (
        (clock.increase, {"type": "integer"}, ("evm_increaseTime", "anvil_increaseTime")),
        (clock.set, COUNT, ("evm_setTime", "anvil_setTime")),
        (clock.set_next, NOTHING, ("evm_setNextBlockTimestamp", "anvil_setNextBlockTimestamp")),
        (clock.set_interval, NOTHING, ("anvil_setBlockTimestampInterval",)),
        (clock.remove_interval, BOOLEAN, ("anvil_removeBlockTimestampInterval",)),
        (wanted.base_fee, NOTHING, ("anvil_setNextBlockBaseFeePerGas",)),
        (wanted.hardhat_base_fee, ALWAYS_TRUE, ("hardhat_setNextBlockBaseFeePerGas",)),
        (wanted.gas_limit, ALWAYS_TRUE, ("evm_setBlockGasLimit", "anvil_setBlockGasLimit")),
        (wanted.chain_id, NOTHING, ("anvil_setChainId",)),
        (wanted.random_value, ALWAYS_TRUE, ("hardhat_setPrevRandao",)),
    ):
        for name in names:
            registry.method(name, view=False, result=result)(handler)
