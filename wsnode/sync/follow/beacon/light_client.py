"""Light client of the engine; no other module of this folder imports the engine."""

from wsnode._native.beacon import (
    BeaconNetwork,
    LightClient,
    LightClientChange,
    LightClientRowError,
    OldCheckpointError,
    ProvedHeader,
    RefusedError,
    split_updates,
)

__all__ = [
    "BeaconNetwork",
    "LightClient",
    "LightClientChange",
    "LightClientRowError",
    "OldCheckpointError",
    "ProvedHeader",
    "RefusedError",
    "split_updates",
]
