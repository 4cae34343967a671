"""Heads that are chosen by what the sync committee has signed, whatever upstreams announce."""

from pathlib import Path
from tempfile import mkdtemp

import pytest

from tests.sync.follow.beacon.proved_world import BEGIN, LIGHT, ProvedWorld, grown_story, proved_world
from wsnode.ethereum.storage.folder_kind import FULL, FolderKind
from wsnode.sync.errors import CheckpointError
from wsnode.sync.follow.beacon.light_client import ProverState
from wsnode.sync.follow.sync_report import SyncStage
from wsnode.upstream.address import UpstreamAddress

pytestmark = pytest.mark.slow

KINDS = [pytest.param(LIGHT, id="light"), pytest.param(FULL, id="full")]


def proved_number(fork: str, slot: int) -> int:
    """Return the number of the block that is proved in a slot: since Gloas, of the parent's payload."""
    return slot - (2 if fork == "gloas" else 1)


async def until_state(proved: ProvedWorld, state: ProverState) -> None:
    await proved.world.until(lambda: proved.anchor.status().state is state)


@pytest.mark.parametrize("fork", ["fulu", "gloas"])
@pytest.mark.parametrize("kind", KINDS)
async def test_the_head_is_the_proved_block_and_none_that_is_announced_above_it(
    kind: FolderKind, fork: str, tmp_path: Path
) -> None:
    async with proved_world(tmp_path, kind=kind, story=grown_story(fork)) as proved:
        await proved.world.until_at(proved.block(proved_number(fork, 20)))
        await proved.world.until_stage(SyncStage.LIVE)
        proved.clock.slot = 24
        await proved.world.until_at(proved.block(proved_number(fork, 24)))
        follower = proved.world.follower
        await proved.world.until(lambda: follower.not_ready_reason() is None)
        assert follower.highest == proved_number(fork, 24)
        assert all(change.added[-1].number < 24 for change in proved.world.changes if change.added)


async def test_a_light_folder_begins_at_the_block_that_is_proved_to_be_final(tmp_path: Path) -> None:
    async with proved_world(tmp_path) as proved:
        await proved.world.until_at(proved.block(19))
        await proved.world.until(lambda: proved.marks() == (BEGIN, BEGIN))
        assert proved.sources["honest"].asked["eth_getBlockByNumber"] < 10


async def test_safe_and_final_are_those_of_the_proofs(tmp_path: Path) -> None:
    async with proved_world(tmp_path, slot=30, blocks=50) as proved:
        await proved.world.until_at(proved.block(29))
        # No proved block is an epoch old here, so that the final one is the safest.
        await proved.world.until(lambda: proved.marks() == (BEGIN, BEGIN))
        proved.clock.slot = 40
        await proved.world.until_at(proved.block(39))
        await proved.world.until(lambda: proved.marks() == (29, BEGIN))
        proved.clock.slot = 41
        await proved.world.until(lambda: proved.marks()[1] == 24)


async def test_announced_blocks_are_served_at_most_eight_above_the_proved_one(tmp_path: Path) -> None:
    async with proved_world(tmp_path, serves_announced=True) as proved:
        await proved.world.until_at(proved.block(27))
        await proved.world.until(lambda: proved.marks() == (19, BEGIN))
        proved.clock.slot = 26
        await proved.world.until_at(proved.block(30))
        assert "up to 8 blocks above it are the upstreams' word" in proved.world.follower.status()["trust"]


async def test_a_false_tip_is_gone_with_the_next_proof(tmp_path: Path) -> None:
    async with proved_world(tmp_path, slot=20, blocks=19, serves_announced=True) as proved:
        source = proved.sources["honest"]
        await proved.world.until_at(proved.block(19))
        source.growing.grow([(b"\xe0" * 20, ())])
        await source.tell()
        await proved.world.until_at(false := source.head)
        source.growing.shrink(1)
        source.growing.made -= 1
        source.grow(3)
        await source.tell()
        proved.clock.slot = 21
        await proved.world.until(
            lambda: proved.world.hub.head.number >= 20 and proved.world.hub.head != false
        )


async def test_a_reorganisation_is_followed_as_it_is_proved(tmp_path: Path) -> None:
    async with proved_world(tmp_path, slot=40, blocks=41) as proved:
        await proved.world.until_at(proved.block(39))
        proved.clock.slot = 41
        await proved.world.until_at(left := proved.block(40))
        proved.sources["honest"].growing.reorganise(2, [()] * 9)
        proved.clock.slot = 43
        await proved.world.until_at(joined := proved.block(40))
        assert left != joined
        last = proved.world.changes[-1]
        assert (last.removed, last.added) == ((left,), (joined,))


async def test_no_block_below_the_finalized_one_is_safe(tmp_path: Path) -> None:
    async with proved_world(tmp_path, slot=20, blocks=41) as proved:
        await proved.world.until_at(proved.block(19))
        # Block 19 may be the last that was proved an epoch ago; a committee update may prove block 25.
        proved.clock.slot = 41
        await proved.world.until(lambda: proved.marks()[1] == 24)
        assert proved.marks()[0] in (24, 25)


async def test_a_proved_block_that_has_left_the_chain_is_not_safe(tmp_path: Path) -> None:
    async with proved_world(tmp_path, slot=40, blocks=41) as proved:
        await proved.world.until_at(proved.block(39))
        proved.clock.slot = 41
        await proved.world.until_at(proved.block(40))
        proved.sources["honest"].growing.reorganise(2, [()] * 9)
        proved.clock.slot = 43
        await proved.world.until_at(proved.block(40))
        # An epoch before the proved head block 40 was proved, which another one has replaced.
        proved.clock.slot = 49
        await proved.world.until(lambda: proved.marks()[0] == 39)


async def test_an_upstream_that_stays_beside_the_proved_chain_is_elsewhere_and_followed(
    tmp_path: Path,
) -> None:
    async with proved_world(tmp_path, slot=41, blocks=41) as proved:
        await proved.world.until_at(head := proved.block(40))
        proved.beacons["beacon"].lie = lambda path, answer: (404, b"") if path.endswith("_update") else None
        source, follower = proved.sources["honest"], proved.world.follower
        source.growing.reorganise(2, [()] * 3)
        await source.tell()
        await proved.world.until(lambda: proved.world.upstream("honest").head == source.head)

        def is_elsewhere() -> bool:
            proved.clock.slot += 1
            return bool(follower.status()["upstreams"][0]["state"] == "elsewhere")

        await proved.world.until(is_elsewhere)
        assert proved.world.state_of("honest") == ("followed", "")
        assert proved.world.hub.head == head


async def test_two_finalized_chains_stop_following(tmp_path: Path) -> None:
    async with proved_world(tmp_path) as proved:
        await proved.world.until_at(head := proved.block(19))
        prover = proved.anchor.prover
        assert prover is not None
        prover.forked = "the committee has signed two finalized blocks of slot 16: 0x1, 0x2"
        proved.clock.slot = 24
        await proved.world.until_stage(SyncStage.STOPPED)
        assert proved.world.follower.not_ready_reason() == f"following stopped: {prover.forked}"
        assert proved.world.follower.status()["beacon"]["state"] == "stopped"
        assert proved.world.hub.head == head


@pytest.mark.parametrize("kind", KINDS)
async def test_upstreams_that_all_have_another_chain_are_not_served(kind: FolderKind, tmp_path: Path) -> None:
    async with proved_world(tmp_path, kind=kind, liars=("one", "other"), has_honest=False) as proved:
        await proved.world.until(lambda: proved.anchor.is_missing)
        proved.clock.slot = 21
        await until_state(proved, ProverState.WITHHELD)
        reason = proved.world.follower.not_ready_reason()
        assert reason is not None
        assert reason.startswith("no upstream gives block 0x")
        assert reason.endswith(", which the committee has signed")
        assert proved.world.changes == []
        assert proved.world.follower.status()["beacon"]["state"] == "withheld"


async def test_two_of_three_upstreams_that_lie_are_served_only_without_proofs(tmp_path: Path) -> None:
    liars = ("one", "other")
    async with proved_world(
        Path(mkdtemp(dir=tmp_path)), liars=liars, beacons=(), kind=FULL, agree=2
    ) as believed:
        await believed.world.until_at(believed.block(30, "one"))
    async with proved_world(tmp_path, liars=liars, kind=FULL) as proved:
        await proved.world.until_at(proved.block(19))
        proved.clock.slot = 24
        await proved.world.until_at(proved.block(23))


async def test_a_chain_that_was_final_here_and_is_not_proved_is_not_left(tmp_path: Path) -> None:
    async with proved_world(tmp_path, liars=("one",), has_honest=False, beacons=(), kind=FULL) as believed:
        await believed.world.until_at(believed.sources["one"].head)
        final = believed.block(25, "one").hash
        assert await believed.world.follower._head_tracker.mark(safe=final, finalized=final)
    async with proved_world(tmp_path, blocks=40, slot=33, kind=FULL) as proved:
        await proved.world.until_stage(SyncStage.STOPPED)
        reason = proved.world.follower.not_ready_reason()
        assert reason is not None
        assert "final here" in reason


async def test_a_restart_asks_for_no_bootstrap(tmp_path: Path) -> None:
    async with proved_world(tmp_path) as proved:
        await proved.world.until_at(proved.block(19))
        await proved.world.until(lambda: has_row(proved))
    async with proved_world(tmp_path, slot=23, checkpoint=None) as proved:
        await proved.world.until_at(proved.block(22))
        assert not any("bootstrap" in path for path in proved.beacons["beacon"].asked)
        assert proved.world.changes[0].removed == ()


def has_row(proved: ProvedWorld) -> bool:
    from wsnode.ethereum.storage import meta

    with proved.world.chain.store.read() as reader:
        return meta.light_client_row(reader) is not None


async def test_beacon_nodes_can_be_replaced_while_it_runs(tmp_path: Path) -> None:
    async with proved_world(tmp_path, beacons=("first", "other")) as proved:
        await proved.world.until_at(proved.block(19))
        follower = proved.world.follower
        upstreams = [each.client.address for each in follower.upstreams]
        for slot, name in ((24, "other"), (28, "first")):
            follower.follow(upstreams, 1, [UpstreamAddress.parse(f"http://{name}/")])
            proved.clock.slot = slot
            await proved.world.until_at(proved.block(slot - 1))
            (asked,) = proved.anchor.members()["urls"]
            assert (asked["url"], asked["state"]) == (f"http://{name}", "followed")


async def test_a_beacon_node_that_is_left_alone_is_asked_again_when_it_is_named_anew(tmp_path: Path) -> None:
    async with proved_world(tmp_path) as proved:
        await proved.world.until_at(proved.block(19))
        (liar,) = proved.anchor.nodes
        liar.fail("it lied", 3600.0)
        assert proved.anchor.members()["urls"][0]["state"] == "quarantined"
        proved.anchor.follow([liar.api.address])
        proved.clock.slot = 24
        await proved.world.until_at(proved.block(23))


async def test_a_beacon_node_of_another_chain_is_named_and_not_asked(tmp_path: Path) -> None:
    story = grown_story()
    async with proved_world(tmp_path, story=story, beacons=("first", "other")) as proved:
        await proved.world.until(lambda: proved.anchor.prover is not None)
        proved.beacons["other"].spec |= {"SLOTS_PER_EPOCH": "32"}
        await proved.world.until_at(proved.block(19))


@pytest.mark.parametrize("age_days", [13, 15])
async def test_a_stored_light_client_of_15_days_is_refused(age_days: int, tmp_path: Path) -> None:
    async with proved_world(tmp_path) as proved:
        await proved.world.until_at(proved.block(19))
        await proved.world.until(lambda: has_row(proved))
    async with proved_world(tmp_path, slot=20 + age_days * 86_400, checkpoint=None) as proved:
        if age_days < 14:
            await until_state(proved, ProverState.CATCHING_UP)
        else:
            await until_state(proved, ProverState.OLD_CHECKPOINT)
            reason = proved.world.follower.not_ready_reason()
            assert reason is not None
            assert reason.startswith("the checkpoint is of 1970-01-01, 15 days ago, and a chain of that age")


async def test_a_folder_without_a_checkpoint_proves_nothing(tmp_path: Path) -> None:
    async with proved_world(tmp_path, checkpoint=None) as proved:
        await until_state(proved, ProverState.OLD_CHECKPOINT)
        with pytest.raises(CheckpointError, match="--checkpoint ROOT"):
            raise proved.anchor._refusal or AssertionError
