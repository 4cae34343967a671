"""Identification of a node's beacon chain: genesis and configuration, compared with the expected chain."""

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from wsnode.sync.follow.beacon.networks import DAY, FORKS, BeaconChain
from wsnode.untrusted.decoding import (
    JsonDecoder,
    MalformedError,
    decode_bytes,
    decode_text,
    excerpt,
    one_error,
)

FAR_FUTURE: Final = (1 << 64) - 1
"""Epoch of a fork that is not scheduled."""
PRESETS: Final = {
    "mainnet": {
        "SLOTS_PER_EPOCH": 32,
        "EPOCHS_PER_SYNC_COMMITTEE_PERIOD": 256,
        "SYNC_COMMITTEE_SIZE": 512,
    },
    "gnosis": {
        "SLOTS_PER_EPOCH": 16,
        "EPOCHS_PER_SYNC_COMMITTEE_PERIOD": 512,
        "SYNC_COMMITTEE_SIZE": 512,
    },
    "minimal": {"SLOTS_PER_EPOCH": 8, "EPOCHS_PER_SYNC_COMMITTEE_PERIOD": 8, "SYNC_COMMITTEE_SIZE": 32},
}
"""Constants of the presets that a configuration may be based on (consensus-specs, gnosischain/configs)."""
GENESIS_ROOT: Final = "GENESIS_VALIDATORS_ROOT"
GENESIS_TIME: Final = "GENESIS_TIME"

_LINE: Final = re.compile(r"([A-Za-z0-9_]+):\s*(?:'([^']*)'|\"([^\"]*)\"|([^#\s]*))")

_NUMBER_TEXT: Final = re.compile(r"[0-9]{1,20}")

Config = Mapping[str, str]


class _Genesis(msgspec.Struct):
    genesis_time: str
    genesis_validators_root: str


class _GenesisAnswer(msgspec.Struct):
    data: _Genesis


class _SpecAnswer(msgspec.Struct):
    data: dict[str, Any]


_GENESIS: Final = JsonDecoder[_GenesisAnswer](_GenesisAnswer)
_SPEC: Final = JsonDecoder[_SpecAnswer](_SpecAnswer)
_FILE: Final = JsonDecoder[dict[str, Any]](dict[str, Any])


def decode_identity(genesis: bytes, spec: bytes) -> Config:
    """Return the configuration in a node's answers to `/beacon/genesis` and `/config/spec`: names and values.

    Raises:
        MalformedError: An answer is malformed.
    """
    told = _GENESIS.decode(genesis).data
    begun = {GENESIS_ROOT: told.genesis_validators_root, GENESIS_TIME: told.genesis_time}
    return _texts(_SPEC.decode(spec).data) | begun


def decode_config(text: bytes) -> Config:
    """Return the names and values of a configuration file: JSON, or the `config.yaml` of consensus clients.

    Raises:
        MalformedError: The file has neither form.
    """
    if text.lstrip().startswith(b"{"):
        content = _FILE.decode(text)
        return _texts(content.get("data", content))
    found = (_LINE.match(line) for line in decode_text(text).splitlines())
    texts = {match[1].upper(): match[2] or match[3] or match[4] or "" for match in found if match is not None}
    if not texts:
        raise MalformedError("it has no line NAME: VALUE")
    return texts


def _texts(content: object) -> dict[str, str]:
    if not isinstance(content, dict):
        raise MalformedError("it is no table of names and values")
    return {str(name).upper(): str(value) for name, value in content.items() if isinstance(value, str | int)}


def chain_of(config: Config) -> BeaconChain:
    """Return the chain of a configuration.

    Raises:
        MalformedError: A value is missing or malformed.
    """
    with one_error():
        preset: Mapping[str, int] = PRESETS.get(config.get("PRESET_BASE", "mainnet"), {})

        def constant(name: str) -> int:
            return _number(config, name) if name in config else preset[name]

        epochs: list[int] = []
        for name in FORKS[1:]:
            epoch = _number(config, f"{name.upper()}_FORK_EPOCH", FAR_FUTURE)
            if epoch == FAR_FUTURE:
                break
            epochs.append(epoch)
        versions = ["GENESIS_FORK_VERSION", *(f"{name.upper()}_FORK_VERSION" for name in FORKS[1:])]
        milliseconds = _number(config, "SLOT_DURATION_MS", 0)
        return BeaconChain(
            genesis_validators_root=f"0x{decode_bytes(_text(config, GENESIS_ROOT), 32).hex()}",
            genesis_time=_number(config, GENESIS_TIME),
            versions=tuple(_version(config, name) for name in versions[: len(epochs) + 1]),
            epochs=tuple(epochs),
            slot_milliseconds=milliseconds or 1000 * _number(config, "SECONDS_PER_SLOT"),
            committee_size=constant("SYNC_COMMITTEE_SIZE"),
            slots_per_epoch=constant("SLOTS_PER_EPOCH"),
            epochs_per_period=constant("EPOCHS_PER_SYNC_COMMITTEE_PERIOD"),
            weak_subjectivity_seconds=14 * DAY,
        )


def _text(config: Config, name: str) -> str:
    if name not in config:
        raise MalformedError(f"{name} is missing")
    return config[name]


def _number(config: Config, name: str, default: int | None = None) -> int:
    if name not in config and default is not None:
        return default
    text = _text(config, name)
    if not _NUMBER_TEXT.fullmatch(text):
        raise MalformedError(f"{name}: {excerpt(text)} is no number")
    return int(text)


def _version(config: Config, name: str) -> int:
    return int.from_bytes(decode_bytes(_text(config, name), 4), "big")


def difference(ours: BeaconChain, theirs: BeaconChain) -> str | None:
    """Return the first difference between two chains in words, or None if they are the same chain."""
    for name in (
        "genesis_validators_root",
        "genesis_time",
        "slot_milliseconds",
        "committee_size",
        "slots_per_epoch",
        "epochs_per_period",
    ):
        if (found := getattr(theirs, name)) != (expected := getattr(ours, name)):
            return f"{name} {found}, expected {expected}"
    for fork, found, expected in zip(FORKS[1:], theirs.epochs, ours.epochs, strict=False):
        if found != expected:
            return f"{fork} begins at epoch {found}, expected {expected}"
    for fork, found, expected in zip(FORKS, theirs.versions, ours.versions, strict=False):
        if found != expected:
            return f"the version of {fork} is {found:#010x}, expected {expected:#010x}"
    return None


def coming_fork(ours: BeaconChain, config: Config) -> str | None:
    """Return name and epoch of a fork that a node schedules and `ours` lacks, None if there is none."""
    known = {f"{name.upper()}_FORK_EPOCH" for name in FORKS[: len(ours.epochs) + 1]}
    for name, text in config.items():
        is_epoch = name.endswith("_FORK_EPOCH") and name not in known and _NUMBER_TEXT.fullmatch(text)
        if is_epoch and int(text) < FAR_FUTURE:
            return f"{name.removesuffix('_FORK_EPOCH').lower()} at epoch {text}"
    return None
