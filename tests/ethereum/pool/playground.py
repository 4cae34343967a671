"""A chain with a pool on it, and senders."""

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from eth_account import Account as Wallet

from wsnode.demo.accounts import ACCOUNTS, FundedAccount
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.transactions import PooledTransaction
from wsnode.ethereum.development.builder import BlockBuilder, BuiltBlock
from wsnode.ethereum.head import HeadChange
from wsnode.ethereum.pool.limits import PoolLimits
from wsnode.ethereum.pool.pool import TransactionPool
from wsnode.ethereum.primitives.values import Hash32
from wsnode.ethereum.state import sign_transaction

CHAIN_ID = 31337
GWEI = 10**9
ETHER = 10**18
BALANCE = 10_000 * ETHER
TRANSFER_GAS = 21_000
SOMEBODY = bytes(19) + b"\x99"
MINER = bytes(19) + b"\x77"


class Playground:
    """Blocks come when they are asked for; the clock stands until it is moved."""

    def __init__(self, folder: Path, limits: PoolLimits | None = None) -> None:
        genesis = (files("wsnode.demo") / "genesis.json").read_bytes()
        self.chain = Chain.open(folder, genesis, writer=True, durable=False)
        self.builder = BlockBuilder(self.chain)
        self.now = 0.0
        self.pool = TransactionPool(self.chain, limits or PoolLimits(), clock=lambda: self.now)
        self._salts = 0

    def close(self) -> None:
        self.chain.close()

    def sign(
        self,
        sender: FundedAccount,
        nonce: int,
        *,
        fee: int = 10 * GWEI,
        tip: int = GWEI,
        value: int = 1,
        gas: int = TRANSFER_GAS,
        call: bytes = b"",
        to: bytes | None = SOMEBODY,
    ) -> bytes:
        return sign_transaction(
            sender.secret,
            chain_id=CHAIN_ID,
            nonce=nonce,
            to=to,
            value=value,
            input=call,
            gas=gas,
            max_fee=fee,
            max_priority_fee=tip,
        )

    def send(self, sender: FundedAccount, nonce: int, **members: Any) -> Hash32:
        return self.pool.add(self.sign(sender, nonce, **members))

    def mine(self, transactions: Sequence[PooledTransaction] | None = None) -> BuiltBlock:
        """Make a block of these transactions, or of what the pool offers."""
        chosen = self.pool.executable() if transactions is None else transactions
        built = self.append([transaction.encoded for transaction in chosen])
        self.pool.advance(HeadChange((), (built.head,)))
        return built

    def append(self, encoded: Sequence[bytes]) -> BuiltBlock:
        """Make a block that is not announced to the pool."""
        self._salts += 1
        timestamp, salt = self.builder.tip.timestamp + 12, self._salts.to_bytes(4, "big")
        return self.builder.append(encoded, timestamp=timestamp, fee_recipient=MINER, salt=salt)

    def reorganise(self, depth: int, blocks: Sequence[Sequence[bytes]]) -> HeadChange:
        """Replace the last blocks by others."""
        removed = self.builder.unwind(self.chain.head.number - depth)
        added = [self.append(encoded).head for encoded in blocks]
        change = HeadChange(tuple(removed), tuple(added))
        self.pool.advance(change)
        return change

    def nonces(self, sender: FundedAccount) -> tuple[list[int], list[int]]:
        """Return the nonces of an account's executable transactions, and of the others."""
        found = self.pool.sender(sender.address)
        if found is None:
            return [], []
        return [entry.nonce for entry in found.pending], sorted(found.queued)


def signed(sender: FundedAccount, members: dict[str, Any]) -> bytes:
    """Return a transaction of any type, as web3.py has it."""
    filled = {"chainId": CHAIN_ID, "gas": 200_000, "value": 0, "to": f"0x{SOMEBODY.hex()}", **members}
    if "gasPrice" not in filled:
        filled = {"maxFeePerGas": 10 * GWEI, "maxPriorityFeePerGas": GWEI, **filled}
    told = {name: value for name, value in filled.items() if value is not None}
    return bytes(Wallet.sign_transaction(told, sender.secret).raw_transaction)


ALICE, BOB, CAROL, DAVE = ACCOUNTS[:4]
