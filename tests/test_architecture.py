"""The allowed imports, two levels deep: changing these tables is an architecture change.

FLOORS lists what lies in a folder, modules and folders, from the ground up. A module imports from the floors
below its own, never from above, nor from its neighbours on the same floor.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import wsnode

PACKAGE = Path(wsnode.__file__).parent
CHECKOUT = PACKAGE.parent
MOST_MODULES = 16

MAY_IMPORT = {
    "store": set[str](),
    "pubsub": set[str](),
    "jsonrpc": set[str](),
    "upstream": {"jsonrpc"},
    "ethereum": {"jsonrpc", "pubsub", "store", "upstream"},
    "starknet": {"jsonrpc", "pubsub", "store"},
    "server": {"jsonrpc", "pubsub"},
    "console": {"server"},
    "sync": {"ethereum", "jsonrpc", "starknet", "upstream"},
    "cluster": {"ethereum", "starknet", "sync", "upstream"},
    "doctor": {"ethereum", "starknet", "store"},
    "snapshots": {"ethereum", "starknet", "store"},
    "verify": {"upstream"},
    "load": {"upstream"},
    "node": {"cluster", "console", "ethereum", "jsonrpc", "server", "starknet", "store", "sync", "upstream"},
    "demo": {"ethereum", "jsonrpc", "node", "server", "starknet", "upstream"},
    "cli": {
        "cluster",
        "demo",
        "doctor",
        "ethereum",
        "load",
        "node",
        "server",
        "snapshots",
        "starknet",
        "store",
        "sync",
        "upstream",
        "verify",
    },
    "__main__": {"cli"},
}
MUST_NOT_IMPORT = {"cluster": "ethereum/rpc/", "sync": "ethereum/rpc/"}
"""Part of what a folder may import. What synchronises or publishes a chain serves no method."""
FLOORS = {
    "pubsub": ("event doorbell", "subscription", "group", "fan_out", "store_watch"),
    "jsonrpc": (
        "errors work cursors bounds schema",
        "codec share",
        "parameters requests",
        "method",
        "registry",
        "slices openrpc dispatcher",
        "calls",
        "batches",
        "session",
    ),
    "jsonrpc/batches": ("parked", "batch"),
    "upstream": (
        "errors",
        "address budget messages score",
        "link streams",
        "http websocket",
        "client",
        "hedging",
    ),
    "ethereum": (
        "primitives codes",
        "codec state absence",
        "head networks system_contracts",
        "storage",
        "snapshot execution",
        "chain",
        "appender logs",
        "tree",
        "live pool",
        "building",
        "development payloads",
        "rpc",
    ),
    "ethereum/rpc": (
        "form",
        "node blocks accounts logs fees",
        "calls",
        "traces transactions",
        "parity",
        "otterscan",
        "development engine",
        "registry",
    ),
    "server": (
        "doors limits transport",
        "turns",
        "shared",
        "access upkeep",
        "http websocket",
        "limit_report",
        "server",
        "accepting",
    ),
    "starknet": (
        "felt native state_diff",
        "errors block block_id diff_source",
        "diff_json classes",
        "storage",
        "roots",
        "snapshot verification",
        "chain header_json dump",
        "intake",
        "live",
        "rpc",
    ),
    "sync": (
        "source errors progress starknet_progress",
        "rlp_files fork_choice starknet_folder",
        "importer follow",
        "proofs",
    ),
    "sync/proofs": ("wanted depths", "blocks", "provers", "supply"),
    "sync/follow": (
        "choice outage pace",
        "upstream",
        "report blocks",
        "greeting heard marks sending",
        "verified attending light",
        "catching_up",
        "advance ancestors",
        "follower",
    ),
    "sync/follow/blocks": ("fetching", "asking", "ranges walk"),
    "cluster": (
        "address filter_scripts nodes quotas records",
        "journal steps",
        "alt source",
        "presence polling redis_journal sharing tenure",
        "pool",
        "publisher replica",
    ),
    "cluster/alt": ("documents standings", "steps", "source"),
    "cluster/pool": ("changes", "listing mirror stream", "mirroring publishing redis_pool"),
    "cluster/replica": (
        "errors gauge outbox standings",
        "alt peers repeating",
        "delivery ethereum following",
    ),
    "node": (
        "addresses memory settings views",
        "config",
        "config_file config_line listening rereading",
        "growth",
        "chains processes",
        "networks",
        "assembly",
        "running",
        "run workers",
        "config_check",
    ),
    "node/growth": (
        "driving journals news proving replica_report",
        "counting following forking polling pooling publishing replicating_alt",
        "replicating",
        "fork_point",
    ),
    "node/memory": ("copying", "heap"),
    "node/workers": ("ledger messages questions", "pair", "accepting serving", "run"),
    "node/workers/accepting": ("placement tally", "member", "relaying spreading survey", "parent"),
    "node/workers/serving": ("elsewhere", "colleagues pools telling", "membership", "worker"),
    "snapshots": (
        "errors",
        "manifest places",
        "contents pieces streams",
        "taking",
        "restoring",
    ),
    "load": (
        "descriptors frames histogram machine replies",
        "connection latencies measured progress",
        "node",
        "mix",
        "interference lag storm replay",
        "plan",
        "report",
        "run",
    ),
    "load/mix": ("samples", "requests", "window", "processes ramp regions"),
    "cli/bench": ("options running", "lag mix replay storm", "group"),
    "cli": (
        "failures",
        "terminal",
        "options",
        "bench config development doctor imports keys outage serving snapshots status verify",
        "follow",
        "replica",
        "main",
    ),
}
USES_TRIO = (
    "cli/imports/",
    "cli/serving/",
    "cli/verify/",
    "cluster/",
    "demo/",
    "ethereum/development/",
    "ethereum/live/",
    "ethereum/payloads/",
    "ethereum/tree/live/",
    "node/growth/fork_point/",
    "node/growth/forking/",
    "node/growth/publishing/",
    "node/growth/replicating/",
    "node/run/",
    "node/running/",
    "node/workers/",
    "pubsub/",
    "server/",
    "starknet/live/",
    "sync/",
    "upstream/",
    "verify/",
)
USES_NATIVE = (
    "ethereum/codec/",
    "ethereum/state/",
    "jsonrpc/",
    "node/workers/ledger/",
    "server/transport/",
    "server/websocket/fragment/",
    "server/websocket/frames/",
    "starknet/native/",
    "store/",
)


def files(folder: Path = PACKAGE) -> list[Path]:
    return sorted(path.relative_to(folder) for path in folder.rglob("*.py"))


def name_of(path: Path) -> str:
    """Return a module's path without its ending; a folder's __init__.py is the folder."""
    return (path.parent if path.name == "__init__.py" else path.with_suffix("")).as_posix()


MODULES = {name_of(path): path for path in files() if path.as_posix() != "__init__.py"}


def imported(name: str) -> Iterator[str]:
    """Yield the modules that a module imports, ours by their paths and others by their dotted names."""
    for node in ast.walk(ast.parse((PACKAGE / MODULES[name]).read_text())):
        if isinstance(node, ast.Import):
            yield from (path_of(alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}: imports are absolute"
            source = path_of(node.module or "")
            inner = {path_of(f"{node.module}.{alias.name}") for alias in node.names}
            yield from {found if found in MODULES or found == "_native" else source for found in inner}


def path_of(dotted: str) -> str:
    return dotted.removeprefix("wsnode.").replace(".", "/") if dotted.startswith("wsnode.") else dotted


def is_allowed(importer: str, target: str) -> bool:
    """Return whether the order lets one module import the other."""
    folder, other = importer.split("/")[0], target.split("/")[0]
    if folder != other:
        is_barred = folder in MUST_NOT_IMPORT and target.startswith(MUST_NOT_IMPORT[folder])
        return other in MAY_IMPORT[folder] and not is_barred
    while folder in FLOORS and folder not in (importer, target):
        own, other = place(importer, folder), place(target, folder)
        if own != other:
            return floor(own, folder) > floor(other, folder)
        folder = f"{folder}/{own}"
    return True


def place(name: str, folder: str) -> str:
    """Return what lies in the folder and is, or holds, the module."""
    return name.removeprefix(f"{folder}/").split("/")[0]


def floor(place: str, folder: str) -> int:
    return next(number for number, places in enumerate(FLOORS[folder]) if place in places.split())


def test_every_folder_of_the_package_has_its_row() -> None:
    assert {name.split("/")[0] for name in MODULES} == set(MAY_IMPORT)


@pytest.mark.parametrize("folder", FLOORS)
def test_everything_in_a_folder_has_its_floor(folder: str) -> None:
    listed = [name for places in FLOORS[folder] for name in places.split()]
    assert sorted(listed) == sorted(
        {place(name, folder) for name in MODULES if name.startswith(f"{folder}/")}
    )


@pytest.mark.parametrize("name", MODULES)
def test_a_module_imports_only_what_lies_below_it(name: str) -> None:
    ours = {target for target in imported(name) if target in MODULES}
    assert {target for target in ours if not is_allowed(name, target)} == set()


@pytest.mark.parametrize("name", MODULES)
def test_trio_and_the_engine_have_their_few_importers(name: str) -> None:
    names = {re.split("[./]", target)[0] for target in imported(name)}
    assert "trio" not in names or f"{name}/".startswith(USES_TRIO)
    assert "_native" not in names or f"{name}/".startswith(USES_NATIVE)
    assert "coredis" not in names or name == "cluster/redis_journal"


@pytest.mark.parametrize("path", [path for path in files() if path.name == "__init__.py"], ids=str)
def test_a_folder_says_its_job_and_nothing_else(path: Path) -> None:
    body = ast.parse((PACKAGE / path).read_text()).body
    assert len(body) == 1
    assert isinstance(body[0], ast.Expr)


@pytest.mark.parametrize("root", ["wsnode", "tests", "bench"])
def test_no_folder_is_a_hall(root: str) -> None:
    sizes = Counter(path.parent.as_posix() for path in files(CHECKOUT / root) if path.name != "__init__.py")
    assert {folder: size for folder, size in sizes.items() if size > MOST_MODULES} == {}
