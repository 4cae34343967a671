"""The README's snippets run as they stand there, on the demo; its commands have the options named there."""

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator

import click
import pytest

from tests.node_process import PATIENCE, Node, started
from tests.vector_files import CHECKOUT
from wsnode.cli.main import app

ADDRESS = "127.0.0.1:8545"
README = (CHECKOUT / "README.md").read_text()
SNIPPETS = re.findall(r"^```(\w+)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
COMMANDS = [
    words
    for language, text in SNIPPETS
    if language == "sh"
    for line in text.splitlines()
    if (words := shlex.split(line, comments=True))
]
OURS = [words[1:] for words in COMMANDS if words[0] == "wsnode"]


@pytest.fixture(scope="module")
def demo() -> Iterator[Node]:
    with started("demo", "--quiet", "--listen", "127.0.0.1:0") as node:
        yield node


def here(text: str, node: Node) -> str:
    """Return a text with the demo's address in the place of the usual one, which may be another program's."""
    assert ADDRESS in text
    return text.replace(ADDRESS, node.bare(node.http_url).removeprefix("http://").rstrip("/"))


def test_the_python_of_the_readme_prints_the_logs_of_the_demos_token(demo: Node) -> None:
    ((_language, text),) = [snippet for snippet in SNIPPETS if snippet[0] == "python"]
    command = [sys.executable, "-u", "-c", here(text, demo)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(5)]
        process.kill()
    assert lines[0].startswith('{"jsonrpc":"2.0","id":1,"result":"0x')
    for line in lines[1:]:
        assert '"address":"0x5fbdb2315678afecb367f032d93f642f64180aa3"' in line
        assert '"cursor":"' in line


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_the_first_request_of_the_readme_is_answered(demo: Node) -> None:
    (words,) = [words for words in COMMANDS if words[0] == "curl"]
    command = [here(word, demo) if ADDRESS in word else word for word in words]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True)
    assert re.fullmatch(r'{"jsonrpc":"2.0","id":1,"result":"0x[0-9a-f]+"}\n?', ended.stdout)


@pytest.mark.parametrize("words", OURS, ids=" ".join)
def test_each_command_of_the_readme_has_the_options_that_it_names(words: list[str]) -> None:
    command: click.Command = app
    while isinstance(command, click.Group):
        found = command.get_command(click.Context(command), words[0])
        assert found is not None, words
        command = found
        words = words[1:]
    context = click.Context(command)
    # Unlike a run, this only reads the options.
    command.make_parser(context).parse_args([word.replace("…", "node.example") for word in words])


@pytest.mark.parametrize(
    "words", [words for words in COMMANDS if words[0].startswith("deploy/")], ids=" ".join
)
def test_each_script_of_the_readme_is_there(words: list[str]) -> None:
    assert (CHECKOUT / words[0]).is_file()


def test_the_first_snippet_leads_from_a_clone_to_a_running_chain() -> None:
    language, text = SNIPPETS[0]
    lines = [shlex.split(line, comments=True) for line in text.splitlines()]
    assert language == "sh"
    assert lines[0][:3] == ["git", "clone", "URL"]
    assert ["pip", "install", "."] in lines
    assert lines[-1] == ["wsnode", "demo"]
    assert ["deploy/wheels.sh", "--zig", "dist"] in COMMANDS
    assert any("deploy/Containerfile" in words for words in COMMANDS)


@pytest.mark.parametrize(
    "page",
    ["README.md", "docs/reference/light.md", "docs/reference/following.md", "docs/reference/development.md"],
)
def test_the_page_of_chains_is_linked_from(page: str) -> None:
    assert re.search(r"\]\((docs/reference/)?chains\.md\)", (CHECKOUT / page).read_text())
