"""Traffic of the demo chain: transfers and swaps in every block, sent through the pool."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from random import Random
from typing import Final

import trio

from wsnode.demo import exchange, token
from wsnode.demo.accounts import FundedAccount, traders
from wsnode.demo.script import ETHER, GWEI, SWAP_GAS, TRANSFER_GAS
from wsnode.ethereum.pool.errors import PoolError
from wsnode.ethereum.state import ChainSpec, sign_transaction

MOST_FEE: Final = 200 * GWEI
SOON: Final = 0.25
"""Part of the time between two blocks after which the next block's transactions are sent."""

logger = logging.getLogger("wsnode.demo")

NextNonce = Callable[[bytes], int]
Send = Callable[[bytes], object]
"""Function that offers a signed transaction to the pool; raises PoolError."""
Settle = Callable[[], Awaitable[None]]
"""Function that returns once the chain has mined a block, if automatic mining is on."""


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
            max_fee=MOST_FEE,
            max_priority_fee=GWEI * self._random.randint(1, 3),
        )
        try:
            self._send(signed)
        except PoolError as error:
            # A user's control of the chain, such as an account without funds, must not end the traffic.
            logger.debug("a transaction of the demo's traffic was refused: %s", error)
