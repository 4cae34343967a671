"""Each library comes to a node with a demand in its URL, and notices nothing but a handshake that waits."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.subscribers.chain import EMITTER, Chain
from tests.clients.subscribers.program import LIBRARIES, starter
from tests.node_process import Node, started

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    folder = tmp_path_factory.mktemp("dev")
    with started("dev", "--quiet", "--listen", "127.0.0.1:0", "--data", str(folder)) as running:
        yield running


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_library_subscribes_at_a_node_that_has_the_block_which_its_url_demands(
    library: str, node: Node, tmp_path: Path
) -> None:
    chain = Chain(node.http_url)
    demanded = chain.height + 1
    program = starter(library, tmp_path)(f"{node.bare(node.socket_url)}?min_block={demanded}", EMITTER)
    try:
        chain.emit_until("it hears of all", lambda: program.of("log") and program.of("head"), pause=0.2)
        assert program.of("error") == []
        assert int(program.of("head")[0]) >= demanded
    finally:
        program.end()
        print(program.said, program.complaints)
