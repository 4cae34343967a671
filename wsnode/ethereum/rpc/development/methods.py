"""Registration of the methods that only development chains have."""

from collections.abc import Sequence

import msgspec

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.development.control import DevelopmentControl
from wsnode.ethereum.pool.pool import TransactionPool
from wsnode.ethereum.rpc.calls.access_lists import AccessLists
from wsnode.ethereum.rpc.calls.methods import Calls
from wsnode.ethereum.rpc.development import (
    accounts,
    mined_blocks,
    mining,
    patching,
    planning,
    reorganising,
    signing,
    state_dump,
    tokens,
)
from wsnode.ethereum.rpc.development.accounts import Accounts
from wsnode.ethereum.rpc.development.mined_blocks import MinedBlocks
from wsnode.ethereum.rpc.development.signing import Wallet
from wsnode.ethereum.rpc.development.tokens import Tokens
from wsnode.ethereum.rpc.form.limits import CallLimits
from wsnode.ethereum.rpc.traces.methods import Traces
from wsnode.ethereum.rpc.transactions.filling import Completion
from wsnode.ethereum.rpc.transactions.inclusion import Inclusion
from wsnode.ethereum.state import address_of
from wsnode.jsonrpc.registry import Registry


class Development(msgspec.Struct, frozen=True):
    """The control that makes a development chain's blocks, and the private keys that the node signs with."""

    control: DevelopmentControl
    secrets: Sequence[bytes]

    @property
    def addresses(self) -> list[bytes]:
        """Return the addresses of the keys."""
        return [address_of(secret) for secret in self.secrets]


class Means(msgspec.Struct, frozen=True):
    """The parts of the node that the methods use."""

    chain: Chain
    pool: TransactionPool
    completion: Completion
    inclusion: Inclusion
    calls: Calls
    access_lists: AccessLists
    traces: Traces
    limits: CallLimits


def add_methods(registry: Registry, told: Development, means: Means) -> None:
    """Register the methods of development chains."""
    chain, control, wallet = means.chain, told.control, Wallet(told.secrets)
    own = Accounts(chain, wallet, means.pool, control, means.completion, means.inclusion)
    accounts.add_methods(registry, own)
    signing.add_methods(registry, wallet)
    mining.add_methods(registry, control, means.pool)
    state_dump.add_methods(registry, control)
    planning.add_methods(registry, control)
    patching.add_methods(registry, control)
    reorganising.add_methods(registry, chain, own, control)
    mined_blocks.add_methods(registry, MinedBlocks(chain, control, means.traces), means.limits)
    tokens.add_methods(registry, Tokens(chain, control, means.calls, means.access_lists), means.limits)
