"""Addresses of this machine that a node takes for those of others, in a network of the soak's own."""

import shutil
import socket
import subprocess
from collections.abc import Sequence

REMOTE = "198.18.0"
"""Of the network for benchmarks (RFC 2544)."""
LOCAL = "127.0.0"
PREPARE = f'ip link set lo up && ip route add local {REMOTE}.0/24 dev lo && exec "$@"'
ISOLATED = ("unshare", "--map-root-user", "--net", "sh", "-c", PREPARE, "isolated")


def isolated() -> Sequence[str]:
    """Return what to put before a command, so that it has a network of its own where `REMOTE` is local.

    Empty where the system does not allow that.
    """
    if not all(map(shutil.which, ("unshare", "ip"))):
        return ()
    ended = subprocess.run([*ISOLATED, "true"], capture_output=True, check=False)
    return () if ended.returncode else ISOLATED


def address(network: str, number: int) -> str:
    """Return an address of `REMOTE` or `LOCAL`."""
    return f"{network}.{number + 2}"


def chosen_network() -> str:
    """Return `REMOTE` where its addresses can be used, `LOCAL` elsewhere."""
    with socket.socket() as probe:
        try:
            probe.bind((address(REMOTE, 0), 0))
        except OSError:
            return LOCAL
    return REMOTE
