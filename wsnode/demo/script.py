"""Script of the demo chain: fixed transactions in fixed blocks."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from wsnode.demo import exchange, token
from wsnode.demo.accounts import ACCOUNTS, FundedAccount, traders
from wsnode.demo.genesis import CHAIN_ID
from wsnode.ethereum.state import sign_transaction

BLOCKS: Final = 40
"""Number of blocks before the exchange opens."""
BLOCK_SECONDS: Final = 12

GWEI: Final = 10**9
ETHER: Final = 10**18
MAX_FEE: Final = 100 * GWEI
PRIORITY_FEE: Final = GWEI
TRANSFER_GAS: Final = 21_000
CALL_GAS: Final = 120_000
CREATION_GAS: Final = 1_500_000
SWAP_GAS: Final = 250_000
FUNDS: Final = 1_000 * ETHER
TOKENS: Final = 90_000 * token.UNIT
UNLIMITED: Final = 2**256 - 1


class Wallets:
    """Signer for the demo's accounts, which counts their nonces."""

    def __init__(self) -> None:
        self._nonces = Counter[bytes]()

    def sign(
        self,
        sender: FundedAccount,
        to: bytes | None,
        *,
        value: int = 0,
        call: bytes = b"",
        gas: int = CALL_GAS,
    ) -> bytes:
        """Return the next transaction of `sender`, signed and encoded."""
        nonce = self._nonces[sender.address]
        self._nonces[sender.address] += 1
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
    yield from _opening(wallets)


def _opening(wallets: Wallets) -> Iterator[list[bytes]]:
    """Yield the blocks in which the exchange opens; its traders are funded for years."""
    first = traders()[0]
    yield [
        *(
            wallets.sign(sender, trader.address, value=FUNDS, gas=TRANSFER_GAS)
            for sender, trader in zip(ACCOUNTS[1:], traders(), strict=False)
        ),
        *(
            wallets.sign(ACCOUNTS[0], token.ADDRESS, call=token.transfer(trader.address, TOKENS))
            for trader in traders()
        ),
    ]
    yield [
        wallets.sign(first, None, call=exchange.creation(token.ADDRESS), gas=CREATION_GAS),
        *(
            wallets.sign(trader, token.ADDRESS, call=token.approve(exchange.ADDRESS, UNLIMITED))
            for trader in traders()
        ),
        wallets.sign(
            first,
            exchange.ADDRESS,
            value=exchange.ETHER_RESERVE,
            call=exchange.deposit(exchange.TOKEN_RESERVE),
            gas=SWAP_GAS,
        ),
    ]


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
        # More than any balance: included, and reverted with "Token: insufficient balance".
        yield wallets.sign(sender, token.ADDRESS, call=token.transfer(recipient.address, 2 * token.SUPPLY))


def _pair(place: int) -> tuple[FundedAccount, FundedAccount]:
    return ACCOUNTS[place % len(ACCOUNTS)], ACCOUNTS[(place * 7 + 3) % len(ACCOUNTS)]
