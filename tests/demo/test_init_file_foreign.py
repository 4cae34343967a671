"""Files of other tools that a development chain begins with: read, or refused in one line."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.untrusted.hostile import texts, values
from wsnode.demo.anvil.init_file import read_init_file
from wsnode.demo.state_dump_file import read_accounts
from wsnode.node.config import ConfigurationError

READERS: Final[list[Callable[[Path], Any]]] = [read_init_file, read_accounts]
ADDRESS: Final = b'"0x%b"' % (b"1" * 40)
MEMBERS: Final = (
    b'{"alloc":{%b:%%b}}' % ADDRESS,
    b'{"alloc":{%b:{"balance":%%b}}}' % ADDRESS,
    b'{"timestamp":%b}',
    b'{"coinbase":%b}',
    b'{"config":{"chainId":%b}}',
    b'{"accounts":{%b:%%b}}' % ADDRESS,
    b'{"accounts":{%b:{"nonce":%%b,"balance":"0x1","code":"0x","storage":{}}}}' % ADDRESS,
    b'{"accounts":{%b:{"nonce":1,"balance":"0x1","code":"0x","storage":{"0x1":%%b}}}}' % ADDRESS,
)
written = st.tuples(st.sampled_from(MEMBERS), values).map(lambda parts: parts[0] % parts[1])


@pytest.mark.parametrize("read", READERS)
@given(text=st.one_of(texts, written))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_a_file_is_read_or_refused(tmp_path: Path, read: Callable[[Path], Any], text: bytes) -> None:
    path = tmp_path / "it.json"
    path.write_bytes(text)
    with suppress(ConfigurationError):
        read(path)


@pytest.mark.parametrize("read", READERS)
def test_a_pipe_is_not_waited_for(tmp_path: Path, read: Callable[[Path], Any]) -> None:
    path = tmp_path / "it.json"
    os.mkfifo(path)
    with pytest.raises(ConfigurationError, match=f"{path}: it is a pipe and not a file"):
        read(path)
