from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.sync.forks import Branch, branch, genesis, staked
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.rlp import block_hash
from wsnode.ethereum.state import InvalidBlockError
from wsnode.sync.importer import Importer
from wsnode.sync.progress import NullProgress
from wsnode.sync.rlp_files import RlpFiles

OLD, NEW = 1, 2


async def take(chain: Chain, blocks: Sequence[bytes]) -> None:
    file = chain.folder.path / "blocks.rlp"
    file.write_bytes(b"".join(blocks))
    with RlpFiles([str(file)]) as source:
        await Importer(chain, source, NullProgress()).run()


def hashes(blocks: Sequence[bytes]) -> list[bytes]:
    return [block_hash(block) or b"" for block in blocks]


def canonical(chain: Chain) -> list[bytes]:
    with chain.snapshot() as snapshot:
        return [snapshot.hash_of(number) or b"" for number in range(1, snapshot.number + 1)]


@pytest.fixture
def chain(tmp_path: Path) -> Iterator[Chain]:
    with Chain.open(tmp_path / "chain", genesis(merged=False), writer=True, durable=False) as chain:
        yield chain


@pytest.fixture
def staked_chain(tmp_path: Path) -> Iterator[Chain]:
    with Chain.open(tmp_path / "chain", genesis(merged=True), writer=True, durable=False) as chain:
        yield chain


@pytest.fixture
def miner(tmp_path: Path) -> Iterator[Branch]:
    with branch(tmp_path / "miner") as miner:
        yield miner


@pytest.fixture
def other_miner(tmp_path: Path) -> Iterator[Branch]:
    with branch(tmp_path / "other_miner") as miner:
        yield miner


async def test_more_total_difficulty_wins_and_the_loser_is_kept(
    chain: Chain, miner: Branch, other_miner: Branch
) -> None:
    old = [miner.mine(coinbase=OLD) for _ in range(3)]
    new = [other_miner.mine(coinbase=NEW, seconds=1) for _ in range(3)]
    await take(chain, old)
    assert canonical(chain) == hashes(old)
    await take(chain, new)
    assert canonical(chain) == hashes(new)
    with chain.snapshot() as snapshot:
        for block in hashes(old):
            assert snapshot.number_of(block) is None
            assert snapshot.side_header(block) is not None
            assert snapshot.side_receipts(block) is not None
        for block in hashes(new):
            assert snapshot.side_header(block) is None


async def test_of_equals_the_first_seen_stays(chain: Chain, miner: Branch, other_miner: Branch) -> None:
    old = [miner.mine(coinbase=OLD) for _ in range(3)]
    new = [other_miner.mine(coinbase=NEW) for _ in range(3)]
    await take(chain, [*old, *new])
    assert canonical(chain) == hashes(old)
    with chain.snapshot() as snapshot:
        assert [snapshot.side_header(block) is not None for block in hashes(new)] == [True] * 3


async def test_a_longer_branch_takes_over_when_its_difficulty_does(
    chain: Chain, miner: Branch, other_miner: Branch
) -> None:
    shared = [miner.mine(coinbase=OLD) for _ in range(2)]
    for block in shared:
        other_miner.take(block)
    old = [miner.mine(coinbase=OLD) for _ in range(3)]
    new = [other_miner.mine(coinbase=NEW) for _ in range(5)]
    await take(chain, [*shared, *old, *new[:3]])
    assert canonical(chain) == hashes([*shared, *old])
    await take(chain, new[3:4])
    assert canonical(chain) == hashes([*shared, *new[:4]])
    await take(chain, new[4:])
    assert canonical(chain) == hashes([*shared, *new])


async def test_switching_forth_and_back_leaves_what_a_straight_import_leaves(
    chain: Chain, miner: Branch, other_miner: Branch, tmp_path: Path
) -> None:
    old = [miner.mine(coinbase=OLD) for _ in range(4)]
    new = [other_miner.mine(coinbase=NEW) for _ in range(3)]
    await take(chain, [*old[:2], *new, *old[2:]])
    assert canonical(chain) == hashes(old)
    assert chain.state.committed_head == (4, hashes(old)[-1])
    with chain.snapshot() as snapshot:
        assert snapshot.state.account(OLD.to_bytes(20, "big"), (4, hashes(old)[-1])) is not None
        assert snapshot.state.account(NEW.to_bytes(20, "big"), (4, hashes(old)[-1])) is None


async def test_a_branch_that_proves_invalid_gives_the_old_chain_back(
    chain: Chain, miner: Branch, other_miner: Branch
) -> None:
    old = [miner.mine(coinbase=OLD) for _ in range(3)]
    new = [other_miner.mine(coinbase=NEW) for _ in range(3)]
    await take(chain, [*old, *new])
    wrong = bytearray(other_miner.mine(coinbase=NEW))
    root = wrong.index(b"\x94" + NEW.to_bytes(20, "big")) + 25
    wrong[root] ^= 1
    with pytest.raises(InvalidBlockError, match="state_root"):
        await take(chain, [bytes(wrong)])
    assert canonical(chain) == hashes(old)
    assert chain.state.committed_head == (3, hashes(old)[-1])
    with chain.snapshot() as snapshot:
        assert snapshot.side_header(hashes(new)[-1]) is not None
        assert snapshot.side_header(hashes([bytes(wrong)])[0]) is None


async def test_a_side_block_with_a_wrong_header_is_refused(
    chain: Chain, miner: Branch, other_miner: Branch
) -> None:
    old = [miner.mine(coinbase=OLD) for _ in range(3)]
    wrong = bytearray(other_miner.mine(coinbase=NEW))
    position = wrong.index((30_000_000).to_bytes(4, "big"))
    wrong[position] ^= 0x40
    with pytest.raises(InvalidBlockError, match="gas_limit"):
        await take(chain, [*old, bytes(wrong)])
    assert canonical(chain) == hashes(old)


async def test_after_the_merge_the_last_block_wins(staked_chain: Chain, tmp_path: Path) -> None:
    old = staked(tmp_path / "old", [OLD] * 5)
    new = staked(tmp_path / "new", [OLD, OLD, NEW])
    assert old[:2] == new[:2]
    await take(staked_chain, [*old, new[2]])
    assert canonical(staked_chain) == hashes(new)


async def test_blocks_that_are_stored_do_not_win_again(staked_chain: Chain, tmp_path: Path) -> None:
    old = staked(tmp_path / "old", [OLD] * 5)
    new = staked(tmp_path / "new", [OLD, OLD, NEW])
    await take(staked_chain, [*old, new[2]])
    await take(staked_chain, old)
    assert canonical(staked_chain) == hashes(new)


async def test_a_switch_that_was_cut_off_is_made_up_for_by_importing_again(
    staked_chain: Chain, tmp_path: Path
) -> None:
    old = staked(tmp_path / "old", [OLD] * 5)
    new = staked(tmp_path / "new", [OLD, OLD, NEW])
    await take(staked_chain, old)
    staked_chain.unwind(2)
    await take(staked_chain, [*old, new[2]])
    assert canonical(staked_chain) == hashes(new)
