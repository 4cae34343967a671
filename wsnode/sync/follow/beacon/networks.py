"""Beacon chains of public networks: genesis, presets and the schedule of forks.

Sources: the networks' own configurations (eth-clients/mainnet, sepolia, hoodi; gnosischain/configs). The
tables of Lodestar and Helios agree with them.
"""

from typing import Final

import msgspec

from wsnode.sync.follow.beacon.light_client import BeaconNetwork

FORKS: Final = ("phase0", "altair", "bellatrix", "capella", "deneb", "electra", "fulu", "gloas")
DAY: Final = 86_400


class BeaconChain(msgspec.Struct, frozen=True, kw_only=True):
    """Constants and fork schedule of a beacon chain, as far as a light client needs them."""

    genesis_validators_root: str
    genesis_time: int
    versions: tuple[int, ...]
    """Versions of phase 0 and of each fork after it, as numbers of 32 bits."""
    epochs: tuple[int, ...]
    """First epochs of Altair and of each scheduled fork after it."""
    slot_milliseconds: int = 12_000
    committee_size: int = 512
    slots_per_epoch: int = 32
    epochs_per_period: int = 256
    weak_subjectivity_seconds: int = 14 * DAY

    @property
    def network(self) -> BeaconNetwork:
        epochs = (0, *self.epochs)
        return BeaconNetwork(
            genesis_validators_root=bytes.fromhex(self.genesis_validators_root[2:]),
            genesis_time_seconds=self.genesis_time,
            slot_milliseconds=self.slot_milliseconds,
            committee_size=self.committee_size,
            slots_per_epoch=self.slots_per_epoch,
            epochs_per_period=self.epochs_per_period,
            weak_subjectivity_seconds=self.weak_subjectivity_seconds,
            forks=[
                (name, epoch, version.to_bytes(4, "big"))
                for name, epoch, version in zip(FORKS, epochs, self.versions, strict=False)
            ],
        )


def numbered(first: int, step: int) -> tuple[int, ...]:
    """Return the versions of all forks: `first`, and each `step` more than the one before it."""
    return tuple(first + step * number for number in range(len(FORKS)))


CHAINS: Final = {
    1: BeaconChain(
        genesis_validators_root="0x4b363db94e286120d76eb905340fdd4e54bfe9f06bf33ff6cf5ad27f511bfe95",
        genesis_time=1606824023,
        versions=numbered(0x00000000, 0x01000000),
        epochs=(74240, 144896, 194048, 269568, 364032, 411392),
    ),
    11155111: BeaconChain(
        genesis_validators_root="0xd8ea171f3c94aea21ebc42a1ed61052acf3f9209c00e4efbaaddac09ed9b8078",
        genesis_time=1655733600,
        versions=numbered(0x90000069, 1),
        epochs=(50, 100, 56832, 132608, 222464, 272640, 353024),
    ),
    560048: BeaconChain(
        genesis_validators_root="0x212f13fc4df078b6cb7db228f1c8307566dcecf900867401a92023d7ba99cb5f",
        genesis_time=1742213400,
        versions=numbered(0x10000910, 0x10000000),
        epochs=(0, 0, 0, 0, 2048, 50688),
    ),
    100: BeaconChain(
        genesis_validators_root="0xf5dcb5564e829aab27264b9becd5dfaa017085611224cb3036f573368dbb9d47",
        genesis_time=1638993340,
        versions=numbered(0x00000064, 0x01000000),
        epochs=(512, 385536, 648704, 889856, 1337856, 1714688),
        slot_milliseconds=5_000,
        slots_per_epoch=16,
        epochs_per_period=512,
        weak_subjectivity_seconds=7 * DAY,
    ),
    10200: BeaconChain(
        genesis_validators_root="0x9d642dac73058fbf39c0ae41ab1e34e4d889043cb199851ded7095bc99eb4c1e",
        genesis_time=1665396300,
        versions=numbered(0x0000006F, 0x01000000),
        epochs=(90, 180, 244224, 516608, 948224, 1353216),
        slot_milliseconds=5_000,
        slots_per_epoch=16,
        epochs_per_period=512,
        weak_subjectivity_seconds=7 * DAY,
    ),
}
"""Beacon chains by the chain id of their execution chain."""
