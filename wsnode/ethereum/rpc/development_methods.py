"""All methods that only a development chain has."""

from collections.abc import Sequence

import msgspec

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.pool.pool import TransactionPool
from wsnode.ethereum.rpc import accounts, development, patching, reorganising
from wsnode.ethereum.rpc.accounts import Accounts, Wallet
from wsnode.ethereum.rpc.calls import Calls
from wsnode.ethereum.rpc.control import DevelopmentControl
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
    registry: Registry, chain: Chain, told: Development, pool: TransactionPool, calls: Calls
) -> None:
    """Register them."""
    signing = Accounts(chain, Wallet(told.secrets), pool, told.control, calls)
    accounts.add_methods(registry, signing)
    development.add_methods(registry, told.control)
    patching.add_methods(registry, told.control)
    reorganising.add_methods(registry, chain, signing, told.control)
