"""All methods that only a development chain has."""

from collections.abc import Sequence

import msgspec

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.pool.pool import TransactionPool
from wsnode.ethereum.rpc import accounts, development, patching, planning, reorganising, signing, state_dump
from wsnode.ethereum.rpc.accounts import Accounts
from wsnode.ethereum.rpc.completion import Completion
from wsnode.ethereum.rpc.control import DevelopmentControl
from wsnode.ethereum.rpc.signing import Wallet
from wsnode.ethereum.state import address_of
from wsnode.jsonrpc.registry import Registry


class Development(msgspec.Struct, frozen=True):
    """What is there besides a chain: who makes its blocks, and the private keys that the node signs with."""

    control: DevelopmentControl
    secrets: Sequence[bytes]

    @property
    def addresses(self) -> list[bytes]:
        """Return the accounts that the keys belong to."""
        return [address_of(secret) for secret in self.secrets]


def add_methods(
    registry: Registry, chain: Chain, told: Development, pool: TransactionPool, completion: Completion
) -> None:
    """Register them."""
    wallet = Wallet(told.secrets)
    own = Accounts(chain, wallet, pool, told.control, completion)
    accounts.add_methods(registry, own)
    signing.add_methods(registry, wallet)
    development.add_methods(registry, told.control, pool)
    state_dump.add_methods(registry, told.control)
    planning.add_methods(registry, told.control)
    patching.add_methods(registry, told.control)
    reorganising.add_methods(registry, chain, own, told.control)
