"""What a configuration says of proofs of the head, and what the network tells of them."""

from pathlib import Path

import msgspec
import pytest

from tests.ethereum.live.growing import emitting_genesis
from tests.reply_schemas import ReplySchemas, document_of
from tests.sync.follow.beacon.proved_world import proved_world
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.primitives.values import hexadecimal
from wsnode.ethereum.rpc.registry import build_registry
from wsnode.node.config import Config, ConfigurationError, FollowConfig, NetworkConfig
from wsnode.node.config_file import checked
from wsnode.node.running import needs_restart
from wsnode.node.services.sync import agreeing, anchor_figures, anchor_settings

ROOT = "0x" + "ab" * 32
UPSTREAMS = ["ws://a/", "ws://b/", "ws://c/"]


def follow(**settings: object) -> FollowConfig:
    return msgspec.convert({"upstreams": UPSTREAMS, **settings}, FollowConfig)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        pytest.param({"beacon": ["ws://b/"]}, "over http:// or https://", id="not http"),
        pytest.param({"beacon": ["http://b/", "http://b/"]}, "named twice", id="twice"),
        pytest.param({"beacon": [f"http://b{n}/" for n in range(9)]}, "length <= 8", id="too many"),
        pytest.param({"head": "announced"}, "name a beacon node", id="head alone"),
        pytest.param({"beacon_config": "x"}, "name a beacon node", id="configuration alone"),
        pytest.param({"old_checkpoint": True}, "name a beacon node", id="age alone"),
        pytest.param({"checkpoint": ROOT}, "set light or beacon", id="checkpoint alone"),
        pytest.param({"beacon": ["http://b/"], "head": "latest"}, "Invalid enum value", id="another head"),
    ],
)
def test_what_is_impossible_is_said(settings: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        follow(**settings)


def test_one_upstream_is_enough_for_a_proved_head_and_not_for_an_announced_one() -> None:
    assert agreeing(follow()) == 2
    assert agreeing(follow(beacon=["http://b/"])) == 1
    assert agreeing(follow(beacon=["http://b/"], head="announced")) == 2


@pytest.mark.parametrize(
    ("settings", "waiting"),
    [
        pytest.param({"beacon": ["http://b/"]}, [], id="other nodes"),
        pytest.param({"beacon": []}, ["networks"], id="none"),
        pytest.param({"beacon": ["http://a/"], "head": "announced"}, ["networks"], id="another head"),
    ],
)
def test_a_running_node_takes_other_beacon_nodes(settings: dict[str, object], waiting: list[str]) -> None:
    before, after = (
        Config(networks={"main": NetworkConfig("data", follow=follow(**each))})
        for each in ({"beacon": ["http://a/"]}, settings)
    )
    assert needs_restart(before, after) == waiting


def test_a_consensus_client_and_proofs_exclude_each_other(tmp_path: Path) -> None:
    network = {"data": "x", "engine": {}, "follow": {"upstreams": UPSTREAMS, "beacon": ["http://b/"]}}
    with pytest.raises(ConfigurationError, match="a consensus client chooses the head"):
        checked({"networks": {"main": network}}, tmp_path, "file")


def test_a_file_says_what_a_chain_is_that_is_not_known(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    lines = [
        "# A network of tests.",
        "PRESET_BASE: 'minimal'",
        "GENESIS_FORK_VERSION: 0x00000001",
        "ALTAIR_FORK_VERSION: 0x01000001  # Its first fork.",
        "ALTAIR_FORK_EPOCH: 0",
        "BELLATRIX_FORK_EPOCH: 18446744073709551615",
        "SECONDS_PER_SLOT: 6",
    ]
    file.write_text("\n".join(lines))
    with Chain.open(tmp_path / "chain", emitting_genesis(), writer=True, durable=False) as chain:
        given = follow(beacon=["http://b/"], beacon_config=str(file), checkpoint=ROOT)
        settings = anchor_settings(given, chain.spec)
        assert settings is not None
        # Its genesis is the first URL's word.
        assert settings.beacon_chain is None
        assert settings.config["SECONDS_PER_SLOT"] == "6"
        lines += [f'GENESIS_VALIDATORS_ROOT: "{ROOT}"', "GENESIS_TIME: 7"]
        file.write_text("\n".join(lines))
        settings = anchor_settings(given, chain.spec)
        assert settings is not None
        beacon_chain = settings.beacon_chain
        assert beacon_chain is not None
        assert (beacon_chain.committee_size, beacon_chain.slots_per_epoch) == (32, 8)
        assert (beacon_chain.slot_milliseconds, beacon_chain.genesis_time) == (6000, 7)
        assert (beacon_chain.versions, beacon_chain.epochs) == ((1, 0x01000001), (0,))
        file.write_text("GENESIS_TIME: soon\nGENESIS_VALIDATORS_ROOT: 0x\n")
        with pytest.raises(ConfigurationError, match="beacon_config: "):
            anchor_settings(given, chain.spec)
        with pytest.raises(ConfigurationError, match="No such file"):
            anchor_settings(msgspec.structs.replace(given, beacon_config="nowhere"), chain.spec)


async def test_the_status_has_the_published_form_from_the_start_on(tmp_path: Path) -> None:
    async with proved_world(tmp_path) as proved:
        schemas = ReplySchemas(document_of(build_registry(proved.world.chain)))
        follower = proved.world.follower
        schemas.validate("wsnode_status", follower.status())
        await proved.world.until_at(proved.block(19))
        status = follower.status()
        schemas.validate("wsnode_status", status)
        beacon = status["beacon"]
        assert (beacon["participation"], beacon["committeeSize"], beacon["slotSeconds"]) == (32, 32, 1)
        assert beacon["proved"]["hash"] == hexadecimal(proved.block(19).hash)
        (node,) = beacon["urls"]
        assert (node["state"], node["attestedSlot"], node["lag"]) == ("followed", 19, 1)


async def test_metrics_tell_what_is_proved(tmp_path: Path) -> None:
    async with proved_world(tmp_path) as proved:
        await proved.world.until_at(proved.block(19))
        figures = {figure.name: figure for figure in anchor_figures(proved.anchor)}
        values = {name: figure.value for name, figure in figures.items()}
        assert values["wsnode_beacon_proved_slot"] == 19
        assert values["wsnode_beacon_finalized_slot"] == 16
        assert values["wsnode_beacon_clock_slot"] == 20
        assert values["wsnode_beacon_participation"] == 32
        assert figures["wsnode_beacon_url_followed"].labels == {"beacon": "http://beacon"}
