"""`wsnode follow` as a whole process: behind geth, anvil, a chain of our own, and a liar."""

import json
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.geth_process import GETH, started_geth
from tests.node_process import PATIENCE, Node, import_chain, kept_address, run, started, until
from tests.peers.anvil import ask_url, started_anvil
from tests.vector_files import require_vectors
from wsnode.demo.accounts import ACCOUNTS
from wsnode.demo.genesis import development_genesis
from wsnode.ethereum.state import sign_transaction

pytestmark = pytest.mark.slow

needs_geth = pytest.mark.skipif(GETH is None, reason="no `geth` on the path")


def result(url: str, method: str, *params: Any) -> Any:
    reply = ask_url(url, method, *params)
    assert "result" in reply, reply
    return reply["result"]


def head(url: str) -> tuple[int, str]:
    found = result(url, "eth_getBlockByNumber", "latest", False)
    return int(found["number"], 16), found["hash"]


def block_hash(url: str, tag: str) -> str | None:
    found = ask_url(url, "eth_getBlockByNumber", tag, False).get("result")
    return None if found is None else str(found["hash"])


def wait_for_head_of(node: Node, upstream: str) -> None:
    until("the upstream's head", lambda: head(plain(node)) == head(upstream))


def readiness(node: Node) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(plain(node) + "readyz", timeout=PATIENCE) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def status(node: Node) -> dict[str, Any]:
    found: dict[str, Any] = result(plain(node), "wsnode_status")
    return found


def reorganisations(node: Node) -> int:
    """Return how many a node has counted; -1 if its process that follows has no time to answer."""
    counted: int = status(node).get("reorganisations", -1)
    return counted


def first_upstream(node: Node) -> dict[str, Any]:
    """Return how the first upstream stands; nothing if the process that follows has no time to answer."""
    return next(iter(status(node)["upstreams"]), {})


def plain(node: Node) -> str:
    """Return where geth's form is answered."""
    return node.bare(node.http_url)


def websocket(url: str) -> str:
    return url.replace("http://", "ws://")


def command(folder: Path, *upstreams: str, genesis: Path | None = None) -> list[str]:
    named = [part for url in upstreams for part in ("--upstream", url)]
    begun = [] if genesis is None else ["--genesis", str(genesis)]
    return ["follow", "--data", str(folder), *begun, *named, "--listen", "127.0.0.1:0", "--open"]


@contextmanager
def following(folder: Path, *upstreams: str, genesis: Path | None = None) -> Iterator[Node]:
    with started(*command(folder, *upstreams, genesis=genesis)) as node:
        yield node


@pytest.fixture
def genesis(tmp_path: Path) -> Path:
    file = tmp_path / "genesis.json"
    addresses = [account.address for account in ACCOUNTS]
    file.write_bytes(development_genesis(addresses, 10**24, 1_700_000_000))
    return file


@pytest.fixture
def geth(tmp_path: Path, genesis: Path) -> Iterator[str]:
    """Return the URL of a geth that makes a block a second."""
    options = ("--dev.period", "1", "--http.api", "eth,net,debug,web3", "--ws.api", "eth,net,debug,web3")
    with started_geth(tmp_path / "geth", genesis, *options) as addresses:
        yield addresses.http


def payment(chain_id: int, nonce: int, *, fee: int = 10**11) -> str:
    signed = sign_transaction(
        ACCOUNTS[0].secret,
        chain_id=chain_id,
        nonce=nonce,
        to=bytes(19) + b"\x77",
        value=nonce + 1,
        input=b"",
        gas=21_000,
        max_fee=fee,
        max_priority_fee=10**9,
    )
    return f"0x{signed.hex()}"


@needs_geth
@pytest.mark.usefixtures("workers")
def test_geths_chain_is_followed_and_equal_block_for_block(tmp_path: Path, genesis: Path, geth: str) -> None:
    with following(tmp_path / "ours", websocket(geth), genesis=genesis) as node:
        wait_for_head_of(node, geth)
        until("ready", lambda: readiness(node)[0] == 200)
        chain_id = int(result(geth, "eth_chainId"), 16)
        sent = [result(plain(node), "eth_sendRawTransaction", payment(chain_id, nonce)) for nonce in range(3)]
        for each in sent:
            until("a receipt", lambda each=each: result(plain(node), "eth_getTransactionReceipt", each))  # type: ignore[misc]
            theirs = result(geth, "eth_getTransactionReceipt", each)
            assert result(plain(node), "eth_getTransactionReceipt", each) == theirs
        last = head(plain(node))[0]
        for number in range(last + 1):
            for method in ("eth_getBlockByNumber", "debug_getRawBlock", "debug_getRawReceipts"):
                params = [hex(number), True] if method == "eth_getBlockByNumber" else [hex(number)]
                assert result(plain(node), method, *params) == result(geth, method, *params)
        until("at the head", lambda: result(plain(node), "eth_syncing") is False)
        # Each of several workers has its own last report of the process that follows.
        until("a peer", lambda: result(plain(node), "net_peerCount") == "0x1")
        until("spent for geth's pool too", lambda: refusal(node, chain_id, 0).startswith("nonce too low"))

        def is_live() -> bool:
            found = status(node)
            return (found["mode"], found.get("state")) == ("full", "live")

        until("live", is_live)
        until("followed", lambda: first_upstream(node).get("state") == "followed")


def refusal(node: Node, chain_id: int, nonce: int) -> str:
    """Return the message that a payment is refused with."""
    reply = ask_url(plain(node), "eth_sendRawTransaction", payment(chain_id, nonce))
    return str(reply.get("error", {}).get("message", ""))


@needs_geth
@pytest.mark.usefixtures("workers")
def test_a_chain_is_fetched_from_genesis_and_goes_on_after_a_kill(
    tmp_path: Path, genesis: Path, geth: str
) -> None:
    for _ in range(3):
        with following(tmp_path / "ours", websocket(geth), genesis=genesis) as node:
            wait_for_head_of(node, geth)
            node.kill()
    with following(tmp_path / "ours", geth) as node:
        wait_for_head_of(node, geth)
        until("told by polling alone", lambda: first_upstream(node).get("heads") == "polled")
        before = head(plain(node))[0]
        until("another block", lambda: head(plain(node))[0] > before)


@pytest.fixture
def dev(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """Return the URL of a development chain of ours, and its genesis."""
    options = ("--quiet", "--block-time", "1", "--listen", "127.0.0.1:0", "--data", str(tmp_path / "dev"))
    with started("dev", *options) as node:
        yield plain(node), tmp_path / "dev" / "eth" / "genesis.json"


@pytest.mark.usefixtures("workers")
def test_reorganisations_reach_a_subscriber_as_the_upstreams_did(
    tmp_path: Path, dev: tuple[str, Path]
) -> None:
    url, genesis = dev
    with following(tmp_path / "ours", websocket(url), genesis=genesis) as node:
        wait_for_head_of(node, url)
        # A block that comes and goes before the node has it is no reorganisation there.
        result(url, "evm_setIntervalMining", 0)
        wait_for_head_of(node, url)
        result(url, "anvil_mine", "0x5")
        for depth in (1, 3, 2):
            wait_for_head_of(node, url)
            result(url, "anvil_reorg", depth, [])
        wait_for_head_of(node, url)
        snapshot = result(url, "evm_snapshot")
        result(url, "anvil_mine", "0x2")
        wait_for_head_of(node, url)
        assert result(url, "evm_revert", snapshot) is True
        # At other times than before: they would be the same blocks again.
        result(url, "anvil_mine", "0x3", "0xd")
        wait_for_head_of(node, url)
        # A block is served once it is stored, and counted after that.
        until("four are counted", lambda: reorganisations(node) >= 4)


@pytest.mark.usefixtures("workers")
def test_a_transaction_that_the_upstream_refuses_is_refused_in_its_words(
    tmp_path: Path, dev: tuple[str, Path]
) -> None:
    url, genesis = dev
    with following(tmp_path / "ours", websocket(url), genesis=genesis) as node:
        until("followed", lambda: readiness(node)[0] == 200)
        first = payment(31337, 0)
        assert result(plain(node), "eth_sendRawTransaction", first)
        until("included", lambda: result(plain(node), "eth_getTransactionCount", sender(), "latest") == "0x1")
        assert result(plain(node), "eth_sendRawTransaction", payment(31337, 5))
        assert result(url, "txpool_status")["queued"] == "0x1"


def sender() -> str:
    return f"0x{ACCOUNTS[0].address.hex()}"


@pytest.mark.usefixtures("workers")
def test_anvils_reorganisations_are_followed(tmp_path: Path) -> None:
    # Its genesis has accounts that the state root lacks, its base fee does not move at first, and blocks that
    # are mined together, or by anvil_reorg, are of one second: without all of that its blocks are valid.
    options = ("--accounts", "0", "--disable-default-create2-deployer", "--hardfork", "cancun")
    with started_anvil(*options, "--base-fee", "0", "--timestamp", "1700000000") as url:
        file = tmp_path / "genesis.json"
        file.write_text(json.dumps(bare_genesis()))
        with following(tmp_path / "ours", websocket(url), genesis=file) as node:
            result(url, "anvil_mine", "0x6", "0xc")
            wait_for_head_of(node, url)
            snapshot = result(url, "evm_snapshot")
            result(url, "anvil_mine", "0x3", "0xc")
            wait_for_head_of(node, url)
            assert result(url, "evm_revert", snapshot) is True
            result(url, "anvil_mine", "0x4", "0xd")
            wait_for_head_of(node, url)
            until("it is counted", lambda: reorganisations(node) == 1)


def bare_genesis() -> dict[str, Any]:
    """Return the genesis of an anvil without accounts."""
    forks = ("homestead", "eip150", "eip155", "eip158", "byzantium", "constantinople", "petersburg")
    blocks = (*forks, "istanbul", "berlin", "london", "mergeNetsplit")
    schedule = {"cancun": {"target": 3, "max": 6, "baseFeeUpdateFraction": 3338477}}
    config = {f"{fork}Block": 0 for fork in blocks} | {"shanghaiTime": 0, "cancunTime": 0}
    return {
        "config": config | {"chainId": 31337, "terminalTotalDifficulty": 0, "blobSchedule": schedule},
        "timestamp": hex(1_700_000_000),
        "gasLimit": hex(30_000_000),
        "difficulty": "0x0",
        "nonce": "0x0",
        "extraData": "0x",
        "baseFeePerGas": "0x0",
        "alloc": {},
    }


@contextmanager
def lying(upstream: str, *lies: str) -> Iterator[str]:
    """Start a proxy that lies."""
    liar = require_vectors("tools/liar.py")
    with kept_address() as address:
        told = [part for lie in lies for part in ("--lie", lie)]
        arguments = [sys.executable, str(liar), websocket(upstream), "--listen", address, *told]
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline().startswith("ready")
            try:
                yield f"ws://{address}"
            finally:
                process.terminate()


LIES = [
    (("raw-byte=0.2",), "another hash"),
    (("double-heads",), None),
    (("silence",), None),
]
MORE_LIES = [
    (("transaction-field=value", "no-method=debug_"), None),
    (("chain-id=1",), "it is chain 1 (mainnet), not 31337"),
    (("stale-by=3",), None),
    (("null-for=500",), None),
    (("skip-heads=3",), None),
    (("rate-limit=-32016",), None),
]
"""Lies that tests of the follower with upstreams in memory tell too."""


@pytest.mark.parametrize(
    ("lies", "words"),
    [
        (("header-field=stateRoot", "no-method=debug_"), "another hash"),
        *(pytest.param(*lie, marks=pytest.mark.slow) for lie in LIES),
        *(pytest.param(*lie, marks=pytest.mark.nightly) for lie in MORE_LIES),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, tuple) else "",
)
def test_beside_an_honest_upstream_a_liar_changes_nothing(
    lies: tuple[str, ...], words: str | None, tmp_path: Path, dev: tuple[str, Path]
) -> None:
    url, genesis = dev
    with (
        lying(url, *lies) as liar,
        following(tmp_path / "ours", liar, websocket(url), genesis=genesis) as node,
    ):
        wait_for_head_of(node, url)
        result(url, "eth_sendRawTransaction", payment(31337, 0))
        before = head(url)[0]
        until("blocks", lambda: head(url)[0] >= before + 4)
        wait_for_head_of(node, url)
        if words is not None:
            assert words in reason_of_quarantine(node)
        block = hex(head(plain(node))[0])
        assert result(plain(node), "eth_getBlockByNumber", block, True) == result(
            url, "eth_getBlockByNumber", block, True
        )


def reason_of_quarantine(node: Node) -> str:
    """Return why the first upstream is quarantined, once it is: a minute later it is tried again."""
    reasons: list[str] = []

    def is_quarantined() -> bool:
        told = first_upstream(node)
        if told.get("state") == "quarantined":
            reasons.append(told["reason"])
        return bool(reasons)

    until("quarantine", is_quarantined)
    return reasons[0]


@needs_geth
@pytest.mark.usefixtures("workers")
def test_every_case_of_execution_apis_holds_through_a_follower_of_geth(tmp_path: Path) -> None:
    from tests.peers.geth import started_geth as serving_geth

    vectors = require_vectors("execution-apis")
    with (
        serving_geth(tmp_path, vectors / "genesis.json", vectors / "chain.rlp") as geth,
        ExitStack() as stack,
    ):
        last = head(geth.url)[1]
        choice = {"headBlockHash": last, "safeBlockHash": last, "finalizedBlockHash": last}
        call = {"jsonrpc": "2.0", "id": 1, "method": "engine_forkchoiceUpdatedV3", "params": [choice, None]}
        assert geth.send(call, engine=True)["result"]["payloadStatus"]["status"] == "VALID"
        node = stack.enter_context(following(tmp_path / "ours", geth.url, genesis=vectors / "genesis.json"))
        until("geth's head", lambda: head(plain(node)) == head(geth.url))
        for tag in ("safe", "finalized"):
            until(tag, lambda tag=tag: block_hash(plain(node), tag) == last)  # type: ignore[misc]
        until("ready", lambda: readiness(node)[0] == 200)
        ended = run("verify", plain(node), str(vectors / "tests"), seconds=600)
        assert ended.returncode == 0, ended.stdout[-2000:]


@pytest.mark.usefixtures("workers")
def test_an_upstream_that_is_not_there_is_tried_again(tmp_path: Path, genesis: Path) -> None:
    with kept_address() as address, following(tmp_path / "ours", f"ws://{address}", genesis=genesis) as node:
        # A process that follows and has no turn for seconds is another reason, which passes.
        until("not ready", lambda: readiness(node) == (503, "too few upstreams can be followed\n"))
        until("tried", lambda: first_upstream(node).get("state") == "unreachable")
        assert result(plain(node), "eth_blockNumber") == "0x0"
        until("refused", lambda: refusal(node, 31337, 0) == "no upstream can be asked: none is followed")

        def is_shown() -> bool:
            shown = run("status", plain(node))
            assert shown.returncode == 0
            return f"ws://{address}: unreachable" in shown.stdout

        until("it is shown", is_shown)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("ftp://node/SECRET", "ftp:// is none of ws://"),
        ("SECRET", "a URL without a scheme"),
        ("ws://node:bad/SECRET", "not the URL of a node"),
    ],
)
def test_what_is_no_url_of_a_node_is_wrong_usage_and_not_shown(url: str, words: str, tmp_path: Path) -> None:
    ended = run("follow", "--data", str(tmp_path), "--upstream", url)
    assert (ended.returncode, "SECRET" in ended.stderr) == (2, False)
    assert words in ended.stderr


@pytest.mark.usefixtures("workers")
def test_a_key_in_the_url_is_in_no_line_and_no_answer(tmp_path: Path, dev: tuple[str, Path]) -> None:
    url, genesis = dev
    place = url.removeprefix("http://").rstrip("/")
    keyed = f"ws://user:SECRET@{place}/ws/v3/SECRET?key=SECRET"
    with (tmp_path / "log").open("w+") as log:
        with started(*command(tmp_path / "ours", keyed, genesis=genesis), stderr=log) as node:
            wait_for_head_of(node, url)
            told = json.dumps(status(node))
            with urllib.request.urlopen(plain(node) + "metrics", timeout=PATIENCE) as page:
                told += page.read().decode()
        log.seek(0)
        told += log.read()
    assert place in told
    assert "SECRET" not in told


def test_a_folder_of_another_genesis_is_refused(tmp_path: Path, genesis: Path) -> None:
    vectors = require_vectors("execution-apis")
    assert import_chain(tmp_path / "data", vectors / "genesis.json", [vectors / "chain.rlp"]).returncode == 0
    ended = run(*command(tmp_path / "data", "ws://127.0.0.1:1", genesis=genesis))
    assert ended.returncode == 1
    assert len(ended.stderr.splitlines()) == 1
    assert "genesis" in ended.stderr


def test_a_folder_without_a_chain_is_refused(tmp_path: Path) -> None:
    ended = run(*command(tmp_path / "data", "ws://127.0.0.1:1"))
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1].startswith("error: ")
    assert "`wsnode follow` with a --genesis makes one" in ended.stderr


def test_a_folder_that_another_process_writes_is_refused(tmp_path: Path, dev: tuple[str, Path]) -> None:
    ended = run(*command(tmp_path / "dev", "ws://127.0.0.1:1"))
    assert ended.returncode == 1
    assert "error: " in ended.stderr
    assert "Traceback" not in ended.stderr


def test_more_than_there_are_cannot_agree(tmp_path: Path) -> None:
    ended = run(*command(tmp_path, "ws://127.0.0.1:1"), "--agree", "2")
    assert ended.returncode == 1
    assert "agree: 2 of 1 upstreams cannot agree" in ended.stderr


@pytest.mark.usefixtures("workers")
def test_a_full_folder_keeps_its_window_for_life(tmp_path: Path, dev: tuple[str, Path]) -> None:
    url, genesis = dev
    wanted = command(tmp_path / "data", websocket(url), genesis=genesis)
    too_few = run(*wanted, "--window", "63")
    assert (too_few.returncode, too_few.stderr.count("\n")) == (1, 1)
    assert "window: 63: a full folder keeps 64 blocks or more" in too_few.stderr
    with started(*wanted, "--window", "64") as node:
        wait_for_head_of(node, url)
        assert result(plain(node), "eth_capabilities")["state"]["deleteStrategy"]["retentionBlocks"] == "0x40"
    other = run(*wanted, "--window", "65")
    assert (other.returncode, other.stderr.count("\n")) == (1, 1)
    assert (
        "is a full folder of 64 blocks, not a full folder of 65 blocks: take another folder" in other.stderr
    )
    with started(*wanted) as node:
        wait_for_head_of(node, url)


@pytest.mark.usefixtures("workers")
def test_sighup_reads_the_upstreams_again(tmp_path: Path, dev: tuple[str, Path]) -> None:
    url, genesis = dev
    with following(tmp_path / "data", websocket(url), genesis=genesis) as node:
        wait_for_head_of(node, url)
    file = tmp_path / "wsnode.toml"

    def write(upstream: str) -> None:
        file.write_text(
            f'listen = "127.0.0.1:0"\nopen = true\n[networks.main]\ndata = "{tmp_path / "data"}"\n'
            f'[networks.main.follow]\nupstreams = ["{upstream}"]\n'
        )

    write("ws://127.0.0.1:1")
    with started("serve", "--config", str(file)) as node:
        until("unreachable", lambda: first_upstream(node).get("state") == "unreachable")
        write(websocket(url))
        node.process.send_signal(signal.SIGHUP)
        until("followed", lambda: first_upstream(node).get("state") == "followed")
        wait_for_head_of(node, url)
