"""Files that have a byte more than one of their kind may have: each reader says so, and reads nothing."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from wsnode.demo.anvil.init_file import read_init_file
from wsnode.demo.state_dump_file import read_accounts
from wsnode.ethereum.storage.folder import ChainFolder
from wsnode.node.config import ConfigurationError
from wsnode.node.config_file import read as read_config
from wsnode.server.access.jwt import SecretError, read_secret
from wsnode.server.access.keys import KeyFile, KeyFileError
from wsnode.snapshots.errors import ManifestError
from wsnode.snapshots.manifest import read as read_manifest
from wsnode.untrusted.files import OversizedFileError
from wsnode.verify.cases import read_case

pytestmark = pytest.mark.slow

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30

READERS: Final[list[Any]] = [
    pytest.param(
        lambda path: ChainFolder(path.parent).read_genesis(), "genesis.json", GIB, OSError, id="genesis"
    ),
    pytest.param(lambda path: KeyFile(path).read(), "keys.json", 64 * MIB, KeyFileError, id="keys"),
    pytest.param(read_secret, "jwt", 4 * KIB, SecretError, id="secret"),
    pytest.param(read_config, "wsnode.toml", 16 * MIB, ConfigurationError, id="configuration"),
    pytest.param(
        lambda path: read_manifest(path.parent), "manifest.json", 64 * MIB, ManifestError, id="manifest"
    ),
    pytest.param(read_init_file, "init.json", 256 * MIB, ConfigurationError, id="--init"),
    pytest.param(read_accounts, "state.json", GIB, ConfigurationError, id="--load-state"),
    pytest.param(lambda path: read_case(path, path.parent), "case.io", 256 * MIB, OSError, id="case"),
]


@pytest.mark.parametrize(("read", "name", "most", "error"), READERS)
def test_a_file_has_a_bound(
    tmp_path: Path, read: Callable[[Path], object], name: str, most: int, error: type[Exception]
) -> None:
    path = tmp_path / name
    path.touch(0o600)
    # It takes no room on the disk.
    os.truncate(path, most + 1)
    with pytest.raises(error) as refused:
        read(path)
    assert isinstance(refused.value, OversizedFileError) or str(most) in str(refused.value)
