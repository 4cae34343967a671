"""What happens on the demo chain: the same transactions in the same blocks, every time."""

from collections.abc import Iterator
from typing import Final

from wsnode.demo import token
from wsnode.demo.accounts import ACCOUNTS, Account
from wsnode.ethereum.state import sign_transaction

CHAIN_ID: Final = 31337
BLOCKS: Final = 40
BLOCK_SECONDS: Final = 12

GWEI: Final = 10**9
ETHER: Final = 10**18
MAX_FEE: Final = 100 * GWEI
PRIORITY_FEE: Final = GWEI
TRANSFER_GAS: Final = 21_000
CALL_GAS: Final = 120_000
CREATION_GAS: Final = 1_500_000


class Wallets:
    """Signs for the demo's accounts and counts their nonces."""

    def __init__(self) -> None:
        self._nonces = dict.fromkeys((account.address for account in ACCOUNTS), 0)

    def sign(
        self, sender: Account, to: bytes | None, *, value: int = 0, call: bytes = b"", gas: int = CALL_GAS
    ) -> bytes:
        """Return the next transaction of `sender`, signed and encoded."""
        nonce = self._nonces[sender.address]
        self._nonces[sender.address] = nonce + 1
        return sign_transaction(
            sender.secret,
            chain_id=CHAIN_ID,
            nonce=nonce,
            to=to,
            value=value,
            input=call,
            gas=gas,
            max_fee=MAX_FEE,
            max_priority_fee=PRIORITY_FEE,
        )


def blocks() -> Iterator[list[bytes]]:
    """Yield the transactions of each block after the genesis."""
    wallets = Wallets()
    yield [wallets.sign(ACCOUNTS[0], None, call=token.creation(), gas=CREATION_GAS)]
    yield [
        wallets.sign(ACCOUNTS[0], token.ADDRESS, call=token.transfer(account.address, 1_000 * token.UNIT))
        for account in ACCOUNTS[1:]
    ]
    for number in range(3, BLOCKS + 1):
        yield list(_traffic(wallets, number))


def _traffic(wallets: Wallets, number: int) -> Iterator[bytes]:
    for place in range(1 + number % 4):
        sender, recipient = _pair(number + place)
        yield wallets.sign(sender, token.ADDRESS, call=token.transfer(recipient.address, number * token.UNIT))
    sender, recipient = _pair(3 * number)
    if number % 3 == 0:
        yield wallets.sign(sender, recipient.address, value=ETHER // 10, gas=TRANSFER_GAS)
    if number % 5 == 0:
        yield wallets.sign(sender, token.ADDRESS, call=token.approve(recipient.address, 50 * token.UNIT))
        call = token.transfer_from(sender.address, ACCOUNTS[0].address, 20 * token.UNIT)
        yield wallets.sign(recipient, token.ADDRESS, call=call)
    if number % 10 == 0:
        # More than anybody has: included, and reverted with "Token: insufficient balance".
        yield wallets.sign(sender, token.ADDRESS, call=token.transfer(recipient.address, 2 * token.SUPPLY))


def _pair(place: int) -> tuple[Account, Account]:
    return ACCOUNTS[place % len(ACCOUNTS)], ACCOUNTS[(place * 7 + 3) % len(ACCOUNTS)]
