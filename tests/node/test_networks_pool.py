"""A pool beside a chain: it follows what changes there, with or without a block, in any process."""

import msgspec
import pytest

from tests.ethereum.pool.playground import ALICE, BOB, CHAIN_ID, GWEI, Playground
from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.pool.limits import PoolLimits
from wsnode.ethereum.pool.pool import TransactionPool
from wsnode.ethereum.primitives.values import Hash32
from wsnode.node.networks import pool_beside


@pytest.fixture
def hub(playground: Playground) -> Hub:
    return Hub(playground.chain)


@pytest.fixture
def pool(playground: Playground, hub: Hub) -> TransactionPool:
    return pool_beside(hub, playground.chain, PoolLimits())


def patch(playground: Playground, **account: object) -> None:
    """Change ALICE's account as another process would, without a notification."""
    playground.builder.patch(msgspec.json.encode({f"0x{ALICE.address.hex()}": account}))


def test_a_patch_of_an_account_is_followed_with_the_next_look_at_the_store(
    playground: Playground, hub: Hub, pool: TransactionPool
) -> None:
    pool.add(playground.sign(ALICE, 0))
    pool.add(playground.sign(BOB, 0))
    patch(playground, nonce="0x5")
    hub.advance()
    assert [entry.sender for entry in pool.executable()] == [BOB.address]
    # Once looked at, the same version is not looked at again.
    version = pool.version
    hub.advance()
    assert pool.version == version


def test_a_patch_that_is_taken_back_is_followed_too(
    playground: Playground, hub: Hub, pool: TransactionPool
) -> None:
    root = Hash32(playground.chain.state.state_root)
    patch(playground, nonce="0x5")
    hub.advance()
    pool.add(playground.sign(ALICE, 5))
    assert len(pool.executable()) == 1
    playground.builder.unwind(playground.chain.head.number, root)
    hub.advance()
    assert not pool.executable()


@pytest.mark.parametrize("with_block", [False, True])
def test_what_was_signed_for_the_id_before_goes(
    playground: Playground, hub: Hub, pool: TransactionPool, with_block: bool
) -> None:
    pool.add(playground.sign(ALICE, 0, fee=20 * GWEI))
    playground.builder.set_chain_id(CHAIN_ID + 1)
    if with_block:
        playground.append([])
    hub.advance()
    assert not pool.executable()
