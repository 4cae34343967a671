"""A small module that only its neighbour imports has a reason."""

from tests.docs.tree.figures import SMALL, Tree
from tests.vector_files import CHECKOUT

COMMAND = "a command, or the part of one that needs more modules, which is loaded when it is called"
FULL = "its importer would have more than 500 lines, or nearly"
TABLE = "a table, to which another row is added without its reader"
WIRE = "a format of its own, with tests of its form alone"
SUBJECT = "a subject of its own beside a module with several such parts"
KEPT = {
    "cli/anvil/ignored": TABLE,
    "cli/bench/lag": COMMAND,
    "cli/bench/replay": COMMAND,
    "cli/bench/storm": COMMAND,
    "cli/status/report": COMMAND,
    "demo/terminal/call_tree": FULL,
    "ethereum/networks/ethereum": TABLE,
    "ethereum/rpc/logs/cursor": WIRE,
    "load/lag/drive": SUBJECT,
    "node/workers/master/metrics": FULL,
    "node/workers/serving/metrics_client": SUBJECT,
    "server/http/content": FULL,
    "server/http/fast_request": FULL,
    "server/limit_report": FULL,
    "server/websocket/connection_tasks": FULL,
    "server/websocket/message_buffer": FULL,
    "sync/follow/ancestors": FULL,
    "sync/starknet/forwarder": SUBJECT,
}
"""Reasons of the modules that stay. A new one is merged into its importer, or gets a reason here."""


def test_a_small_module_with_one_importer_beside_it_has_a_reason() -> None:
    package = CHECKOUT / "wsnode"
    tree = Tree({path.relative_to(CHECKOUT).as_posix(): path.read_text() for path in package.rglob("*.py")})
    found = {path.removeprefix("wsnode/").removesuffix(".py") for path in tree.small_modules()}
    assert found - KEPT.keys() == set(), f"modules of up to {SMALL} lines with one importer"


def test_a_module_with_a_reason_exists() -> None:
    assert [name for name in KEPT if not (CHECKOUT / f"wsnode/{name}.py").exists()] == []
