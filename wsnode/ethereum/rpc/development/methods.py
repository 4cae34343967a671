"""Registration of the methods that only development chains have."""

from collections.abc import Sequence

import msgspec

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.development.chain import DevelopmentChain
from wsnode.ethereum.pool.pool import TransactionPool
from wsnode.ethereum.rpc.calls.access_lists import AccessListMethods
from wsnode.ethereum.rpc.calls.methods import CallMethods
from wsnode.ethereum.rpc.common.limits import CallLimits
from wsnode.ethereum.rpc.debug_traces.methods import DebugTraceMethods
from wsnode.ethereum.rpc.development import (
    managed_accounts,
    mining,
    next_block,
    patching,
    reorganising,
    signing,
    state_dump,
    tokens,
)
from wsnode.ethereum.rpc.development.managed_accounts import DevelopmentAccountMethods
from wsnode.ethereum.rpc.development.mining import MinedBlockMethods
from wsnode.ethereum.rpc.development.signing import SigningMethods
from wsnode.ethereum.rpc.development.tokens import TokenMethods
from wsnode.ethereum.rpc.fees.methods import PriceOracle
from wsnode.ethereum.rpc.transactions.inclusion import InclusionWaiter
from wsnode.ethereum.rpc.transactions.sending import ExecutionCheck
from wsnode.ethereum.rpc.transactions.transaction_filler import TransactionFiller
from wsnode.ethereum.state import address_of
from wsnode.jsonrpc.registry import Registry


class DevelopmentSetup(msgspec.Struct, frozen=True):
    """Development chain to control by RPC methods, with the private keys (32 bytes) of its accounts."""

    control: DevelopmentChain
    secrets: Sequence[bytes]
    gas_price: int | None = None
    """Price in wei to advise before there are base fees; None for the price of recent blocks."""

    @property
    def addresses(self) -> list[bytes]:
        return [address_of(secret) for secret in self.secrets]


class DevelopmentParts(msgspec.Struct, frozen=True):
    """Parts of the node that the methods of a development chain use: chain, pool, and handlers of other
    methods.
    """

    chain: Chain
    pool: TransactionPool
    oracle: PriceOracle
    completion: TransactionFiller
    inclusion: InclusionWaiter
    execution: ExecutionCheck
    calls: CallMethods
    access_lists: AccessListMethods
    traces: DebugTraceMethods
    limits: CallLimits


def add_methods(registry: Registry, setup: DevelopmentSetup, means: DevelopmentParts) -> None:
    """Register the methods of development chains."""
    chain, control, wallet = means.chain, setup.control, SigningMethods(setup.secrets)
    own = DevelopmentAccountMethods(
        chain, wallet, means.pool, control, means.completion, means.inclusion, means.execution
    )
    managed_accounts.add_methods(registry, own)
    signing.add_methods(registry, wallet)
    mining.add_methods(registry, control, means.pool)
    state_dump.add_methods(registry, control)
    next_block.add_methods(registry, control, means.oracle)
    patching.add_methods(registry, control)
    reorganising.add_methods(registry, chain, own, control)
    mining.add_detailed_mining(registry, MinedBlockMethods(chain, control, means.traces), means.limits)
    tokens.add_methods(registry, TokenMethods(chain, control, means.calls, means.access_lists), means.limits)
