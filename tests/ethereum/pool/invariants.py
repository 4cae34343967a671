"""What is true of a pool at any moment, checked without its own help."""

from itertools import takewhile

from tests.ethereum.pool.playground import Playground
from wsnode.ethereum.codec.transactions import PooledTransaction
from wsnode.ethereum.pool.sender import SenderQueue


def check(playground: Playground) -> None:
    pool, state, head = playground.pool, playground.chain.state, playground.chain.head
    entries = []
    for sender in pool.senders:
        nonce, balance, _ = state.account(sender.address, (head.number, head.hash)) or (0, 0, b"")
        check_sender(sender, nonce, balance)
        entries += [*sender.pending, *sender.queued.values()]
    assert pool.pending == sum(len(sender.pending) for sender in pool.senders)
    assert pool.queued == len(entries) - pool.pending
    assert {entry.hash for entry in entries} == {transaction.hash for transaction in pool.held()}
    assert len({(entry.sender, entry.nonce) for entry in entries}) == len(entries)
    check_bounds(playground, sum(entry.slots for entry in entries), sum(entry.size for entry in entries))
    check_order(playground, pool.executable())


def check_sender(sender: SenderQueue, nonce: int, balance: int) -> None:
    assert len(sender) > 0
    pending = [entry.nonce for entry in sender.pending]
    assert pending == list(range(nonce, nonce + len(pending)))
    spent = sum(entry.cost for entry in sender.pending)
    assert sender.spent == spent <= balance
    assert all(number == entry.nonce > sender.next_nonce - 1 for number, entry in sender.queued.items())
    following = sender.queued.get(sender.next_nonce)
    assert following is None or spent + following.cost > balance
    assert all(entry.cost <= balance for entry in sender.queued.values())


def check_bounds(playground: Playground, slots: int, size: int) -> None:
    pool, limits = playground.pool, playground.pool.limits
    assert slots <= limits.slots
    assert size <= limits.bytes
    assert pool.queued <= limits.global_queue
    assert all(len(sender.queued) <= limits.account_queue + 1 for sender in pool.senders)
    greedy = any(len(sender.pending) > limits.account_slots for sender in pool.senders)
    assert pool.pending <= limits.global_slots or not greedy


def check_order(playground: Playground, executable: list[PooledTransaction]) -> None:
    """Every transaction is the best of those that could come next."""
    room = playground.pool.at.space
    base_fee = room.base_fee or 0
    waiting = {
        sender.address: list(takewhile(lambda entry: entry.max_fee >= base_fee, sender.pending))
        for sender in playground.pool.senders
    }
    for transaction in executable:
        heads = [entries[0] for entries in waiting.values() if entries]
        best = max(min(entry.max_priority_fee, entry.max_fee - base_fee) for entry in heads)
        assert min(transaction.max_priority_fee, transaction.max_fee - base_fee) == best
        taken = waiting[transaction.sender].pop(0)
        assert taken.hash == transaction.hash
    assert not any(waiting.values())
