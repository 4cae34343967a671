"""Transactions of the demo chain: fixed ones in its first blocks, then traffic, sent through the pool."""

import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from random import Random
from typing import Final

import trio

from wsnode.demo import exchange, token
from wsnode.demo.accounts import ACCOUNTS, FundedAccount, traders
from wsnode.demo.genesis import CHAIN_ID
from wsnode.ethereum.pool.errors import PoolError
from wsnode.ethereum.state import ChainSpec, sign_transaction

BLOCKS: Final = 40
"""Number of scripted blocks before the exchange opens."""
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
MAX_TRAFFIC_FEE: Final = 200 * GWEI
SOON: Final = 0.25
"""Part of the time between two blocks after which the transactions of the next block are sent."""

logger = logging.getLogger("wsnode.demo")

NextNonce = Callable[[bytes], int]
Send = Callable[[bytes], object]
"""Function that offers a signed transaction to the pool; raises PoolError."""
Settle = Callable[[], Awaitable[None]]
"""Function that returns once the chain has mined a block, if automatic mining is on."""


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


def scripted_blocks() -> Iterator[list[bytes]]:
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
        # The amount exceeds every balance, so the transaction is included and reverts with "Token:
        # insufficient balance".
        yield wallets.sign(sender, token.ADDRESS, call=token.transfer(recipient.address, 2 * token.SUPPLY))


def _pair(place: int) -> tuple[FundedAccount, FundedAccount]:
    return ACCOUNTS[place % len(ACCOUNTS)], ACCOUNTS[(place * 7 + 3) % len(ACCOUNTS)]


class TrafficGenerator:
    """Generator of some transactions for each block, determined by the seed and the nonces."""

    def __init__(
        self,
        spec: ChainSpec,
        next_nonce: NextNonce,
        send: Send,
        settle: Settle,
        *,
        block_time: float,
        seed: int,
    ) -> None:
        self._spec = spec
        self._next_nonce = next_nonce
        self._send = send
        self._settle = settle
        self._block_time = block_time
        self._random = Random(seed)

    async def run(self) -> None:
        """Send transactions for one block after the other, for ever."""
        await trio.sleep(SOON * self._block_time)
        while True:
            self.send()
            await self._settle()
            await trio.sleep(self._block_time)

    def send(self) -> None:
        """Send the transactions for one block: three to eight of them."""
        accounts = traders()
        for _ in range(self._random.randint(2, 6)):
            self._offer(*self._transfer(accounts))
        for account in self._random.sample(accounts, self._random.randint(1, 2)):
            self._offer(*self._swap(account))

    def _transfer(self, accounts: Sequence[FundedAccount]) -> tuple[FundedAccount, bytes, int, bytes, int]:
        sender, recipient = self._random.sample(accounts, 2)
        if self._random.randrange(8) == 0:
            return sender, recipient.address, ETHER // 1000, b"", TRANSFER_GAS
        amount = self._random.randint(1, 500) * token.UNIT // 100
        return sender, token.ADDRESS, 0, token.transfer(recipient.address, amount), SWAP_GAS

    def _swap(self, account: FundedAccount) -> tuple[FundedAccount, bytes, int, bytes, int]:
        # About as much is bought as is sold, so the price stays where it began.
        thousandths = self._random.randint(1, 100)
        if self._random.random() < 0.5:
            return account, exchange.ADDRESS, thousandths * ETHER // 1000, exchange.buy(), SWAP_GAS
        return account, exchange.ADDRESS, 0, exchange.sell(thousandths * token.UNIT), SWAP_GAS

    def _offer(self, sender: FundedAccount, to: bytes, value: int, call: bytes, gas: int) -> None:
        signed = sign_transaction(
            sender.secret,
            chain_id=self._spec.chain_id,
            nonce=self._next_nonce(sender.address),
            to=to,
            value=value,
            input=call,
            gas=gas,
            max_fee=MAX_TRAFFIC_FEE,
            max_priority_fee=GWEI * self._random.randint(1, 3),
        )
        try:
            self._send(signed)
        except PoolError as error:
            # A user may control the chain, such as by leaving an account without funds. The refusals that
            # follow must not end the traffic.
            logger.debug("a transaction of the demo's traffic was refused: %s", error)
