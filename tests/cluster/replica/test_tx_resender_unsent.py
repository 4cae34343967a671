"""What is due to a process that writes, whatever was sent, lost, refused and mined before."""

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.drawing import examples
from tests.ethereum.pool.playground import ALICE, BOB, GWEI, Playground
from tests.ethereum.pool.steps import with_blobs
from wsnode.cluster.replica.tx_resender import AGAIN_SECONDS, UnsentTransactions
from wsnode.demo.accounts import FundedAccount
from wsnode.ethereum.codec.transactions import PooledTransaction
from wsnode.ethereum.pool.errors import PoolError


class Play:
    """A replica with its pool, and a process that writes, of which nothing is kept but what it has taken."""

    def __init__(self, folder: Path) -> None:
        self.playground = Playground(folder)
        self.outbox = UnsentTransactions(self.playground.pool, lambda: self.playground.now)
        self.epoch = 1
        self.taken: set[bytes] = set()
        self.refused: set[bytes] = set()
        self.refuses = False

    @property
    def due(self) -> list[PooledTransaction]:
        return self.outbox.due(self.epoch)

    def send(self, sender: FundedAccount, nonce: int, fee: int) -> None:
        """Send a transaction as a client does, who is answered once the process that writes has it."""
        try:
            name = self.playground.send(sender, nonce, fee=fee * GWEI)
        except PoolError:
            return
        self.outbox.given(name, self.epoch)
        self.taken.add(name)

    def begin_another(self) -> None:
        """Have a process write that has no pool."""
        self.epoch += 1
        self.taken.clear()
        self.refused.clear()

    def send_again(self) -> None:
        for transaction in self.due:
            assert self.outbox.is_due(transaction.hash, self.epoch)
            if self.refuses:
                self.outbox.refused(transaction.hash, self.epoch)
                self.refused.add(transaction.hash)
            else:
                self.outbox.given(transaction.hash, self.epoch)
                self.taken.add(transaction.hash)

    def refuse(self, refuses: bool) -> None:
        self.refuses = refuses

    def check(self) -> None:
        """What is due is what no process that writes has, each account's in the order of its nonces."""
        due, held = self.due, {transaction.hash for transaction in self.playground.pool.held()}
        assert {transaction.hash for transaction in due} == held - self.taken - self.refused
        places = [(transaction.sender, transaction.nonce) for transaction in due]
        assert places == sorted(places)


doings = st.lists(
    st.one_of(
        st.builds(
            lambda sender, nonce, fee: partial(Play.send, sender=sender, nonce=nonce, fee=fee),
            st.sampled_from([ALICE, BOB]),
            st.integers(0, 4),
            st.sampled_from([10, 20]),
        ),
        st.just(Play.begin_another),
        st.just(Play.send_again),
        st.just(lambda play: play.playground.mine()),
        st.builds(lambda refuses: partial(Play.refuse, refuses=refuses), st.booleans()),
    ),
    max_size=30,
)


@settings(max_examples=examples(40), deadline=None)
@given(done=doings)
def test_what_a_process_that_writes_has_not_is_due_to_it_and_nothing_else(done: list[partial[None]]) -> None:
    with TemporaryDirectory() as folder:
        play = Play(Path(folder))
        for do in done:
            do(play)
            play.check()
        play.playground.close()


def test_who_has_refused_is_asked_again_after_a_while(tmp_path: Path) -> None:
    play = Play(tmp_path)
    name = play.playground.send(ALICE, 0)
    play.outbox.refused(name, play.epoch)
    assert play.due == []
    play.playground.now += AGAIN_SECONDS
    assert [transaction.hash for transaction in play.due] == [name]
    play.outbox.given(name, play.epoch)
    play.playground.now += AGAIN_SECONDS
    assert play.due == []
    play.playground.close()


def test_what_nobody_has_answered_is_due_and_what_left_the_pool_is_not(tmp_path: Path) -> None:
    play = Play(tmp_path)
    name = play.playground.send(ALICE, 0)
    play.outbox.given(name, play.epoch)
    play.outbox.unanswered(name)
    assert play.outbox.is_due(name, play.epoch)
    play.playground.mine()
    assert not play.outbox.is_due(name, play.epoch)
    assert play.due == []
    play.playground.close()


def test_what_cannot_be_sent_from_here_is_not_due(tmp_path: Path) -> None:
    play = Play(tmp_path)
    play.playground.pool.add(with_blobs(ALICE, 0))
    assert play.playground.pool.pending == 1
    assert play.due == []
    play.playground.close()


def test_what_a_writer_has_taken_is_offered_again_unless_it_says_to_have_it(tmp_path: Path) -> None:
    play = Play(tmp_path)
    play.outbox = UnsentTransactions(play.playground.pool, lambda: play.playground.now, hears=True)
    names = [play.playground.send(sender, 0) for sender in (ALICE, BOB)]
    for name in names:
        play.outbox.given(name, play.epoch)
    play.outbox.heard(names[0], play.epoch)
    assert play.due == []
    play.playground.now += AGAIN_SECONDS
    assert [transaction.hash for transaction in play.due] == names[1:]
    # To send it once more is no reason to doubt what the writer has said.
    play.outbox.given(names[0], play.epoch)
    play.playground.now += AGAIN_SECONDS
    assert [transaction.hash for transaction in play.due] == names[1:]
    play.playground.close()


def test_what_is_back_from_a_block_that_left_the_chain_is_due_at_once(tmp_path: Path) -> None:
    play = Play(tmp_path)
    play.playground.pool.on_returned.append(play.outbox.doubted)
    name = play.playground.send(ALICE, 0)
    play.outbox.given(name, play.epoch)
    play.playground.mine()
    play.playground.reorganise(1, [[]])
    assert [transaction.hash for transaction in play.due] == [name]
    play.playground.close()


def test_what_other_nodes_have_as_well_is_sent_last(tmp_path: Path) -> None:
    play = Play(tmp_path)
    of_others = [play.playground.send(ALICE, nonce) for nonce in range(2)]
    own = [play.playground.send(BOB, nonce) for nonce in range(2)]
    for name in own:
        play.outbox.given(name, play.epoch)
    for name in (*of_others, *own):
        play.outbox.heard(name, play.epoch)
    play.epoch += 1
    assert [transaction.hash for transaction in play.due] == [*own, *of_others]
    play.playground.close()
