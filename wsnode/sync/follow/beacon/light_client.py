"""The engine's light client: the one module of this folder that imports the engine."""

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
