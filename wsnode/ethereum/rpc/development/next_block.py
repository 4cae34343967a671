"""evm_setNextBlockTimestamp, anvil_setNextBlockBaseFeePerGas …: settings of the next blocks."""

from typing import Final

import msgspec

from wsnode.ethereum.development.chain import DevelopmentChain
from wsnode.ethereum.primitives.values import Hash32
from wsnode.ethereum.rpc.common.results import NULL
from wsnode.ethereum.rpc.development.mining import TRUE, SecondsParameters, Steps, boolean, done, refusals
from wsnode.ethereum.rpc.development.parameters import LenientCount, LenientNumber
from wsnode.ethereum.rpc.development.schemas import ALWAYS_TRUE, NOTHING
from wsnode.ethereum.rpc.fees.methods import PriceOracle, head_header
from wsnode.ethereum.snapshot import Snapshot
from wsnode.jsonrpc.errors import invalid_params
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.schema import BOOLEAN, COUNT
from wsnode.jsonrpc.work import JsonText

MAX_SECONDS: Final = 10**12
"""The latest time in seconds for `evm_setTime`, as with anvil: 29,700 years from now."""


class WeiParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[wei]`: a base fee or a gas price."""

    wei: LenientNumber


class GasParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[gas]`: the gas limit of the next blocks."""

    gas: LenientNumber


class RandomValueParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[value]`: `prevRandao` of the next block, 32 bytes."""

    value: Hash32


class ClockMethods:
    """Handlers that set the time of the next blocks."""

    def __init__(self, control: DevelopmentChain) -> None:
        self._control = control

    def increase(self, params: SecondsParameters) -> JsonText:
        """Return the seconds by which the chain's clock is now ahead of the system clock."""
        with refusals():
            return b"%d" % self._control.increase_time(params.seconds)

    def set(self, params: SecondsParameters) -> JsonText:
        """Return the seconds by which the chain's clock has moved forward, 0 if it moved back.

        A number above 10^12 is in milliseconds.
        """
        time = int(params.seconds)
        timestamp = time // 1000 if time > MAX_SECONDS else time
        with refusals():
            return b"%d" % max(self._control.set_time(timestamp), 0)

    def set_next(self, params: SecondsParameters) -> JsonText:
        """Return null; the next block will have this timestamp."""
        with refusals():
            self._control.set_next_timestamp(params.seconds)
        return NULL

    def set_interval(self, params: SecondsParameters) -> JsonText:
        """Return null; from now on the timestamps of two blocks differ by `seconds`."""
        with refusals():
            self._control.set_timestamp_interval(params.seconds)
        return NULL

    def remove_interval(self) -> JsonText:
        """Return whether a fixed difference between timestamps was set, and remove it."""
        return boolean(self._control.set_timestamp_interval(None))


class ChainIdParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[chain id]`."""

    chain_id: LenientCount


class NextBlockMethods:
    """Handlers that set other members of the next blocks' headers."""

    def __init__(self, control: DevelopmentChain, oracle: PriceOracle) -> None:
        self._control = control
        self._oracle = oracle

    def base_fee(self, view: Snapshot, params: WeiParameters) -> JsonText:
        """Return null; the next block will have this base fee in wei, from which those of later blocks
        follow.
        """
        if head_header(view).base_fee is None:
            raise invalid_params("anvil_setNextBlockBaseFeePerGas is only supported when EIP-1559 is active")
        with refusals():
            self._control.set_next_base_fee(params.wei)
        return NULL

    def hardhat_base_fee(self, view: Snapshot, params: WeiParameters) -> JsonText:
        """Return true; the next block will have this base fee in wei, from which those of later blocks
        follow.
        """
        self.base_fee(view, params)
        return TRUE

    def gas_price(self, view: Snapshot, params: WeiParameters) -> JsonText:
        """Return null; before London's rules, transactions without a price get this one from now on."""
        if head_header(view).base_fee is not None:
            raise invalid_params("anvil_setMinGasPrice is not supported when EIP-1559 is active")
        self._oracle.set_price_before_london(params.wei)
        return NULL

    def hardhat_gas_price(self, view: Snapshot, params: WeiParameters) -> JsonText:
        """Return true; before London's rules, transactions without a price get this one from now on."""
        self.gas_price(view, params)
        return TRUE

    def gas_limit(self, params: GasParameters) -> JsonText:
        """Return true; the next blocks will have this gas limit."""
        with refusals():
            self._control.set_gas_limit(params.gas)
        return TRUE

    def chain_id(self, params: ChainIdParameters) -> Steps:
        """Return null once new blocks and all calls have this chain id."""
        yield from done(lambda: self._control.set_chain_id(params.chain_id))
        return NULL

    def random_value(self, params: RandomValueParameters) -> JsonText:
        """Return true; the next block will have this random value (`prevRandao`)."""
        self._control.set_next_randao(params.value)
        return TRUE


def add_methods(registry: Registry, control: DevelopmentChain, oracle: PriceOracle) -> None:
    """Register this module's methods."""
    clock, wanted = ClockMethods(control), NextBlockMethods(control, oracle)
    for handler, result, names in (
        (clock.increase, {"type": "integer"}, ("evm_increaseTime", "anvil_increaseTime")),
        (clock.set, COUNT, ("evm_setTime", "anvil_setTime")),
        (clock.set_next, NOTHING, ("evm_setNextBlockTimestamp", "anvil_setNextBlockTimestamp")),
        (clock.set_interval, NOTHING, ("anvil_setBlockTimestampInterval",)),
        (clock.remove_interval, BOOLEAN, ("anvil_removeBlockTimestampInterval",)),
        (wanted.gas_limit, ALWAYS_TRUE, ("evm_setBlockGasLimit", "anvil_setBlockGasLimit")),
        (wanted.chain_id, NOTHING, ("anvil_setChainId",)),
        (wanted.random_value, ALWAYS_TRUE, ("hardhat_setPrevRandao",)),
    ):
        for name in names:
            registry.method(name, view=False, result=result)(handler)
    for of_view, result, name in (
        (wanted.base_fee, NOTHING, "anvil_setNextBlockBaseFeePerGas"),
        (wanted.hardhat_base_fee, ALWAYS_TRUE, "hardhat_setNextBlockBaseFeePerGas"),
        (wanted.gas_price, NOTHING, "anvil_setMinGasPrice"),
        (wanted.hardhat_gas_price, ALWAYS_TRUE, "hardhat_setMinGasPrice"),
    ):
        registry.method(name, result=result)(of_view)
