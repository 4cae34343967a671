"""Of which beacon chain a node is, by its configuration."""

from wsnode.sync.follow.beacon.identity import PRESETS, chain_of, decode_config

CONFIG = f"""
GENESIS_VALIDATORS_ROOT: '0x{"11" * 32}'
GENESIS_TIME: 1700000000
GENESIS_FORK_VERSION: 0x00000001
SECONDS_PER_SLOT: 6
"""


def test_a_configuration_has_the_constants_of_its_preset() -> None:
    for preset, constants in PRESETS.items():
        chain = chain_of(decode_config(f"PRESET_BASE: '{preset}'{CONFIG}".encode()))
        found = (chain.slots_per_epoch, chain.epochs_per_period, chain.committee_size)
        assert found == tuple(constants.values())


def test_a_constant_that_a_configuration_names_counts() -> None:
    own = "SLOTS_PER_EPOCH: 4\nEPOCHS_PER_SYNC_COMMITTEE_PERIOD: 3\nSYNC_COMMITTEE_SIZE: 64\n"
    chain = chain_of(decode_config(f"PRESET_BASE: 'minimal'{CONFIG}{own}".encode()))
    assert (chain.slots_per_epoch, chain.epochs_per_period, chain.committee_size) == (4, 3, 64)
