"""Whatever is sent, mined and reorganised: the pool holds what it should, and blocks take what it offers."""

import tempfile
from pathlib import Path
from typing import ClassVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tests.drawing import examples
from tests.ethereum.pool import invariants
from tests.ethereum.pool.playground import BALANCE, ETHER, GWEI, Playground
from wsnode.demo.accounts import ACCOUNTS
from wsnode.ethereum.codec.rlp import block_transactions
from wsnode.ethereum.codec.transactions import PooledTransaction
from wsnode.ethereum.head import HeadChange
from wsnode.ethereum.pool.errors import PoolError
from wsnode.ethereum.pool.limits import PoolLimits

SENDERS = ACCOUNTS[:4]
senders = st.sampled_from(SENDERS)
# What it may cost beside the value: some cannot be afforded twice, some lie below the base fee.
values = st.sampled_from([0, 1, ETHER, BALANCE // 3, BALANCE // 2, BALANCE - ETHER])
fees = st.sampled_from([1, 5, 10, 11, 12, 100, 1000])
tips = st.sampled_from([1, 2, 10, 11, 12])


class AnyHistory(RuleBasedStateMachine):
    limits: ClassVar[PoolLimits] = PoolLimits(fee_cap=0, queue_seconds=1e9)
    has_room: ClassVar[bool] = True

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.playground = Playground(Path(self.folder.name), self.limits)
        self.announced: set[bytes] = set()
        self.playground.pool.on_added.append(self.note)

    def note(self, added: object) -> None:
        assert isinstance(added, list)
        assert added
        self.announced |= {transaction.hash for transaction in added}

    def teardown(self) -> None:
        self.playground.close()
        self.folder.cleanup()

    def nonce(self, address: bytes) -> int:
        with self.playground.chain.snapshot() as view:
            account = view.state.account(address, (view.number, view.head.hash))
        return account[0] if account else 0

    @rule(sender=senders, ahead=st.integers(-1, 4), fee=fees, tip=tips, value=values)
    def send(self, sender: object, ahead: int, fee: int, tip: int, value: int) -> None:
        assert isinstance(sender, type(SENDERS[0]))
        pool, nonce = self.playground.pool, self.nonce(sender.address) + ahead
        if nonce < 0:
            return
        before = {transaction.hash for transaction in pool.held()}
        encoded = self.playground.sign(
            sender, nonce, fee=fee * GWEI // 10, tip=min(tip, fee) * GWEI // 10, value=value
        )
        try:
            added = pool.add(encoded)
        except PoolError:
            assert {transaction.hash for transaction in pool.held()} <= before
            return
        assert pool.find(added) is not None
        assert ahead >= 0
        assert added not in before

    @rule(count=st.integers(0, 20))
    def mine(self, count: int) -> None:
        """Make a block of the best; it refuses none of them."""
        offered = self.playground.pool.executable()[:count]
        built = self.playground.mine(offered)
        assert built.refused == []
        assert all(self.playground.pool.find(transaction.hash) is None for transaction in offered)

    @rule(sender=senders, value=values)
    def mine_something_else(self, sender: object, value: int) -> None:
        """Make a block of a transaction that the pool never saw."""
        assert isinstance(sender, type(SENDERS[0]))
        encoded = self.playground.sign(sender, self.nonce(sender.address), fee=50 * GWEI, value=value)
        built = self.playground.append([encoded])
        self.playground.pool.advance(HeadChange((), (built.head,)))

    @rule(depth=st.integers(1, 3), kept=st.integers(0, 3))
    def reorganise(self, depth: int, kept: int) -> None:
        """Replace blocks by others, which hold some of the same transactions."""
        depth = min(depth, self.playground.chain.head.number)
        if depth == 0:
            return
        dropped = self.last_transactions(depth)
        before = self.playground.pool.held()
        self.playground.reorganise(depth, [dropped[: min(kept, len(dropped))], []])
        if self.has_room:
            self.check_nothing_is_lost([*before, *map(self.decoded, dropped)])

    def last_transactions(self, depth: int) -> list[bytes]:
        with self.playground.chain.snapshot() as view:
            found: list[bytes] = []
            for number in range(view.number - depth + 1, view.number + 1):
                header, body = view.header(number), view.body(number)
                assert header is not None
                assert body is not None
                found += block_transactions(header, body)
        return found

    def decoded(self, encoded: bytes) -> PooledTransaction:
        return PooledTransaction(self.playground.chain.spec, encoded)

    def check_nothing_is_lost(self, transactions: list[PooledTransaction]) -> None:
        pool, state, head = self.playground.pool, self.playground.chain.state, self.playground.chain.head
        for transaction in transactions:
            nonce, balance, _ = state.account(transaction.sender, (head.number, head.hash)) or (0, 0, b"")
            sender = pool.sender(transaction.sender)
            is_taken = sender is not None and sender.at(transaction.nonce) is not None
            cost = transaction.gas * transaction.max_fee + transaction.value
            spent = 0 if sender is None else sender.spent
            assert transaction.nonce < nonce or is_taken or cost + spent > balance

    @rule(seconds=st.sampled_from([30.0, 61.0, 4000.0, 11_000.0]))
    def wait(self, seconds: float) -> None:
        self.playground.now += seconds

    @invariant()
    def holds_what_it_should(self) -> None:
        invariants.check(self.playground)

    @invariant()
    def told_of_what_can_be_executed(self) -> None:
        assert {transaction.hash for transaction in self.playground.pool.executable()} <= self.announced


class AnyHistoryWithoutRoom(AnyHistory):
    limits = PoolLimits(
        fee_cap=0,
        account_slots=1,
        global_slots=3,
        account_queue=2,
        global_queue=3,
        bytes=5 * 1650,
    )
    has_room = False


AnyHistory.TestCase.settings = settings(max_examples=examples(15), stateful_step_count=25)
AnyHistoryWithoutRoom.TestCase.settings = AnyHistory.TestCase.settings
TestAnyHistory = AnyHistory.TestCase
TestAnyHistoryWithoutRoom = AnyHistoryWithoutRoom.TestCase
