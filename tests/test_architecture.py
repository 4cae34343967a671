"""The allowed imports, two levels deep: changing these tables is an architecture change.

FLOORS lists what lies in a folder, modules and folders, from the ground up. A module imports from the floors
below its own, never from above, nor from its neighbours on the same floor.
"""

import ast
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import wsnode

PACKAGE = Path(wsnode.__file__).parent
CHECKOUT = PACKAGE.parent
MAX_MODULES = 16
MAX_LINES = 500
"""Maximum number of lines of a module; a longer one has two subjects."""

MAY_IMPORT = {
    "release": set[str](),
    "untrusted": set[str](),
    "store": set[str](),
    "pubsub": set[str](),
    "jsonrpc": set[str](),
    "upstream": {"jsonrpc", "untrusted"},
    "ethereum": {"jsonrpc", "pubsub", "release", "store", "untrusted", "upstream"},
    "starknet": {"jsonrpc", "pubsub", "store", "untrusted"},
    "server": {"jsonrpc", "pubsub", "untrusted"},
    "console": {"server"},
    "sync": {"ethereum", "jsonrpc", "starknet", "untrusted", "upstream"},
    "cluster": {"ethereum", "sync", "untrusted", "upstream"},
    "doctor": {"ethereum", "starknet", "store", "untrusted"},
    "snapshots": {"ethereum", "starknet", "store", "untrusted"},
    "verify": {"untrusted", "upstream"},
    "load": {"release", "untrusted", "upstream"},
    "node": {
        "cluster",
        "console",
        "ethereum",
        "jsonrpc",
        "release",
        "server",
        "starknet",
        "store",
        "sync",
        "untrusted",
        "upstream",
    },
    "demo": {"ethereum", "jsonrpc", "node", "server", "starknet", "store", "untrusted", "upstream"},
    "cli": {
        "cluster",
        "demo",
        "doctor",
        "ethereum",
        "load",
        "node",
        "release",
        "server",
        "snapshots",
        "starknet",
        "store",
        "sync",
        "untrusted",
        "upstream",
        "verify",
    },
    "__main__": {"cli"},
}
MUST_NOT_IMPORT = dict.fromkeys(("cluster", "sync", "node/workers"), "ethereum/rpc/")
"""Part of what a folder may import. What synchronises or publishes a chain, or passes messages between
processes, serves no method."""
FLOORS = {
    "untrusted": ("decoding repeated_warning", "files"),
    "pubsub": ("subscription", "fan_out", "store_watch"),
    "jsonrpc": (
        "errors work schema",
        "codec resource_quota session_limits",
        "parameters requests context",
        "method",
        "registry",
        "generators openrpc fast_path",
        "request_handler",
        "batch",
        "dispatcher",
    ),
    "upstream": (
        "errors",
        "address messages",
        "link metering",
        "http websocket",
        "client",
    ),
    "ethereum": (
        "primitives codes state_fetchers",
        "codec state not_found",
        "head networks",
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
        "common",
        "middlewares",
        "historical node blocks accounts fees",
        "calls",
        "logs debug_traces transactions",
        "parity_traces",
        "otterscan",
        "development engine",
        "registry",
    ),
    "server": (
        "limits metric_definitions transport",
        "scheduling",
        "shared",
        "access observability",
        "http websocket",
        "limit_report",
        "server",
        "accepting",
    ),
    "starknet": (
        "felt native block",
        "body errors block_id diff_json",
        "classes trust",
        "storage",
        "roots followed",
        "snapshot verification",
        "chain header_json dump events",
        "importer proofs",
        "live",
        "rpc",
    ),
    "sync": (
        "errors progress",
        "rlp_files starknet_folder",
        "importer follow",
        "proofs starknet",
    ),
    "sync/proofs": ("state_request proof_window", "blocks", "client", "fetcher"),
    "sync/starknet": (
        "replies settings pre_confirmed",
        "client",
        "verified_blocks",
        "store forwarder",
        "head_tracker pre_confirmed_tracker state_reader",
        "follower",
    ),
    "sync/follow": (
        "fork_choice storage_retry block_time",
        "upstream beacon",
        "sync_report blocks",
        "identity_check upstream_txs finality",
        "session light",
        "range_sync head_policy",
        "head_tracker ancestors",
        "proved_head",
        "follower",
    ),
    "sync/follow/beacon": (
        "light_client api",
        "networks beacon_node",
        "identity prover",
        "anchor",
    ),
    "sync/follow/blocks": ("block_client verified_blocks", "any_upstream", "batch_fetcher ancestor_fetcher"),
    "cluster": (
        "address redis_scripts records",
        "journal journal_diff",
        "membership shared_rates leader_session",
        "filter_store redis_journal",
        "pool",
        "publisher replica",
    ),
    "cluster/pool": ("stream", "mirror", "mirror_task publisher redis_pool"),
    "cluster/replica": ("apply", "peer_nodes", "tx_resender following"),
    "node": (
        "listen_address signals views",
        "config",
        "config_file listen_sockets",
        "config_line",
        "services",
        "chains process_group",
        "networks",
        "assembly",
        "running",
        "run workers",
        "config_check",
    ),
    "node/services": (
        "engine fork_point journal_client sync_events proofs",
        "store_check sync historical_chains shared_state journal",
        "fork replica starknet",
    ),
    "node/workers": ("scoreboard messages", "ipc", "master serving", "run"),
    "node/workers/master": (
        "worker_process",
        "router metrics",
        "master",
    ),
    "node/workers/serving": (
        "metrics_client sync_status",
        "worker_process_group",
        "worker",
    ),
    "snapshots": (
        "errors",
        "manifest target_dir",
        "pieces streams",
        "writer",
        "restorer",
    ),
    "load": (
        "frames histogram machine",
        "connection measured progress",
        "node_reader",
        "mix",
        "interference lag storm replay",
        "plan",
        "report",
        "run",
    ),
    "load/mix": ("samples", "requests", "window", "processes ramp intervals"),
    "demo/terminal": ("console_log blocks", "call_tree", "event_printer"),
    "cli/anvil": ("ignored", "command"),
    "cli/status": ("report", "command"),
    "cli/bench": ("running", "lag mix replay storm", "group"),
    "cli": (
        "terminal",
        "options",
        "bench data_folders development imports operation serving status verify",
        "anvil follow serve",
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
    "ethereum/tree/head_writer/",
    "node/services/fork_point/",
    "node/services/fork/",
    "node/services/historical_chains/",
    "node/services/store_check/",
    "node/services/journal/",
    "node/services/replica/",
    "node/run/",
    "node/running/",
    "node/signals/",
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
    "node/workers/scoreboard/",
    "server/transport/",
    "server/websocket/frames/",
    "server/websocket/message_buffer/",
    "starknet/native/",
    "store/",
    "sync/follow/beacon/light_client/",
)


def files(folder: Path = PACKAGE) -> list[Path]:
    return sorted(path.relative_to(folder) for path in folder.rglob("*.py"))


def is_folder(path: Path) -> bool:
    return path.name == "__init__.py"


def name_of(path: Path) -> str:
    """Return a module's path without its ending; a folder's __init__.py is the folder."""
    return (path.parent if is_folder(path) else path.with_suffix("")).as_posix()


MODULES = {name_of(path): path for path in files() if path.as_posix() != "__init__.py"}


@cache
def imported(name: str) -> tuple[str, ...]:
    """Return the modules that a module imports, ours by their paths and others by their dotted names."""
    return tuple(_imported(name))


def _imported(name: str) -> Iterator[str]:
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
        barred = (part for name, part in MUST_NOT_IMPORT.items() if importer.startswith(f"{name}/"))
        return other in MAY_IMPORT[folder] and not target.startswith(tuple(barred))
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


def test_everything_in_a_folder_has_its_floor() -> None:
    listed = {folder: sorted(" ".join(floors).split()) for folder, floors in FLOORS.items()}
    assert listed == {
        folder: sorted({place(name, folder) for name in MODULES if name.startswith(f"{folder}/")})
        for folder in FLOORS
    }


def test_a_module_imports_only_what_lies_below_it() -> None:
    ours = ((name, target) for name in MODULES for target in imported(name) if target in MODULES)
    assert {(name, target) for name, target in ours if not is_allowed(name, target)} == set()


@pytest.mark.parametrize(
    ("library", "importers"),
    [("trio", USES_TRIO), ("_native", USES_NATIVE), ("coredis", ("cluster/redis_journal/",))],
)
def test_a_library_has_its_few_importers(library: str, importers: tuple[str, ...]) -> None:
    users = {name for name in MODULES if library in {re.split("[./]", each)[0] for each in imported(name)}}
    assert {name for name in users if not f"{name}/".startswith(importers)} == set()


CHAIN_WORDS = re.compile(
    r"(?<![a-z])(blocks?|heads?|headers?|chains?|proofs?|proved|forks?|forked|upstreams?|partners?|reorg\w*|NUMBER|HASH)"
    r"(?![a-z])"
)
"""Words for what no part of `jsonrpc` knows, in names with underscores too."""


def words_of(path: Path) -> Iterator[str]:
    """Yield names, docstrings and comments of a module; what it sends to clients is none of them."""
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type in (tokenize.NAME, tokenize.COMMENT) or token.string.startswith('"""'):
                yield token.string


def test_jsonrpc_speaks_of_no_chain() -> None:
    found = {
        (path.name, match[0])
        for path in (PACKAGE / "jsonrpc").rglob("*.py")
        for word in words_of(path)
        for match in CHAIN_WORDS.finditer(word)
    }
    assert found == set()


def test_a_folder_says_its_job_and_nothing_else() -> None:
    bodies = {path: ast.parse((PACKAGE / path).read_text()).body for path in files() if is_folder(path)}
    assert {path for path, body in bodies.items() if [type(each) for each in body] != [ast.Expr]} == set()


def test_a_folder_has_few_modules() -> None:
    roots = ("wsnode", "tests", "bench")
    modules = (root / path for root in map(CHECKOUT.joinpath, roots) for path in files(root))
    sizes = Counter(path.parent for path in modules if not is_folder(path))
    assert {folder: size for folder, size in sizes.items() if size > MAX_MODULES} == {}


def test_a_module_has_at_most_some_hundred_lines() -> None:
    lengths = {name: (PACKAGE / path).read_text().count("\n") for name, path in MODULES.items()}
    assert {name: length for name, length in lengths.items() if length > MAX_LINES} == {}


WALL_CLOCK = re.compile(r"\btime\.time\b|\btime_ns\b|\bdatetime\.now\b|CLOCK_REALTIME|SystemTime")
WALL_CLOCK_FOR = {
    "node/workers/master/metrics.py": "the start of the node, which is said in Unix time",
    "server/access/jwt.py": "the time of issue of a token, which is Unix time (RFC 7519)",
    "server/access/keys.py": "when a key was made; the time of a file, which is Unix time",
    "server/observability/metrics.py": "the start of the process, which is said in Unix time",
    "load/connection.py": "the arrival of messages, which the kernel stamps in Unix time",
    "load/lag/measure.py": "the same",
    "ethereum/development/clock.py": "the timestamps of blocks",
    "ethereum/building/next_block.py": "the timestamps of blocks",
    "ethereum/payloads/builds.py": "the timestamps of blocks",
    "ethereum/rpc/transactions/partner_fallback.py": "the age of the head by its timestamp",
    "demo/starknet_chain.py": "the timestamps of blocks",
    "demo/run.py": "the timestamps of blocks",
    "load/machine.py": "the date of a report",
    "sync/follow/beacon/prover.py": "the slot of the beacon chain",
}
"""Why each module reads the clock that is set forward and back, which decides no age and no limit.

Passing time is that of `time.monotonic`, or since the start of the machine."""


def test_only_these_modules_read_the_wall_clock() -> None:
    sources = [*PACKAGE.rglob("*.py"), *(PACKAGE / "native/src").rglob("*.rs")]
    reading = {str(path.relative_to(PACKAGE)) for path in sources if WALL_CLOCK.search(path.read_text())}
    assert reading == WALL_CLOCK_FOR.keys()
