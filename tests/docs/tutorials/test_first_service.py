"""The commands of docs/tutorials/first-service.md run as they stand there."""

import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from tests.docs.pages import DOCS
from tests.node_process import COMMAND, PATIENCE, kept_address

PAGE = (DOCS / "tutorials/first-service.md").read_text()
ADDRESSES = ("127.0.0.1:8545", "127.0.0.1:8546", "127.0.0.1:9545")


def blocks(text: str, language: str) -> str:
    return "".join(re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_the_commands_lead_to_a_service_with_a_key(tmp_path: Path) -> None:
    (commands := tmp_path / "bin").mkdir()
    (commands / "wsnode").write_text(f'#!/bin/sh\nexec {" ".join(COMMAND)} "$@"\n')
    (commands / "wsnode").chmod(0o755)
    with kept_address() as first, kept_address() as second, kept_address() as third:
        text = PAGE
        for written, here in zip(ADDRESSES, (first, second, third), strict=True):
            assert written in text
            text = text.replace(written, here)
        (tmp_path / "wsnode.toml").write_text(blocks(text, "toml"))
        text = blocks(text, "sh").replace(" &\n", ' &\nstarted="$started $!"\n')
        with subprocess.Popen(
            ["sh", "-c", f"set -e\ntrap 'kill $started; wait' EXIT\n{text}"],
            cwd=tmp_path,
            env={**os.environ, "PATH": f"{commands}:{os.environ['PATH']}"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        ) as shell:
            try:
                said, _ = shell.communicate(timeout=2 * PATIENCE)
            except subprocess.TimeoutExpired:
                os.killpg(shell.pid, signal.SIGKILL)
                raise
    assert shell.returncode == 0, said
    assert re.search(r'"result":"0x[0-9a-f]+"', said)
    assert "main: data, served as other processes write it" in said
    assert "wsnode_head_number" in said
    assert said.splitlines().count("sound") == 1
