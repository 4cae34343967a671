"""What a command loads when it starts: nothing that it does not need."""

import re
import subprocess
from collections.abc import Set

import pytest

from tests.node_process import COMMAND, PATIENCE

INTERPRETER, *ARGUMENTS = COMMAND
IMPORTED = re.compile(r"^import time: +\d+ \| +\d+ \| +(\S+)$", re.M)
NOT_FOR_HELP = {"trio", "msgspec", "wsnode._native", "rich", "websockets", "hashlib", "logging"}
NOT_FOR_A_CHAIN = {
    *("rich", "trio_websocket", "wsproto", "prometheus_client", "http.client"),
    *("wsnode.starknet", "wsnode.ethereum.networks"),
}


def loaded(text: str) -> Set[str]:
    """Return the modules that an interpreter says it has loaded, and the packages around them."""
    names = IMPORTED.findall(text)
    assert "wsnode.cli.main" in names
    return {".".join(name.split(".")[:end]) for name in names for end in range(1, 1 + name.count(".") + 1)}


@pytest.mark.parametrize(
    "arguments", [("--help",), ("dev", "--help"), ("import", "eth", "--help"), ("serve", "--port", "x")]
)
def test_what_only_reads_the_command_line_loads_no_node(arguments: tuple[str, ...]) -> None:
    command = [INTERPRETER, "-X", "importtime", *ARGUMENTS, *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert not loaded(ended.stderr) & NOT_FOR_HELP


def test_a_development_chain_loads_nothing_of_other_commands() -> None:
    command = [INTERPRETER, "-X", "importtime", *ARGUMENTS, "dev", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("ready ")
        process.terminate()
        _output, errors = process.communicate(timeout=PATIENCE)
    assert not loaded(errors) & NOT_FOR_A_CHAIN
