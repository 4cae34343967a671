"""web3.py's own tests of a node: whatever passes against geth passes against this node."""

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

import pytest

from tests.clients.web3_modules import nodes
from tests.geth_process import GETH, Addresses

pytest.importorskip("web3")

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(GETH is None, reason="geth is not on the path"),
]
FOLDER: Final = Path(__file__).parent / "web3_modules"
CHECKOUT: Final = FOLDER.parents[2]


PROVIDERS: Final = ("WebSocketProvider", "HTTPProvider", "AsyncHTTPProvider")
ANOTHER_FORM: Final = re.compile("eth_sign_transaction(_legacy|_hex_fees)?$")
"""`eth_signTransaction` returns the encoded transaction, as execution-apis says, anvil does, and ethers, viem
and alloy read it. geth returns an object, and web3.py reads nothing else."""


LEFT_TO_CHANCE: Final = "wait_for_transaction_receipt_unmined"
"""web3.py expects that this may fail against any node: it marks it so."""


def outcomes(addresses: Addresses, provider: str, report: Path) -> dict[str, str]:
    """Return the tests and how each ends: `passed` or why it does not."""
    command = (
        *(sys.executable, "-m", "pytest", "-q", "-c", "/dev/null", "--rootdir", str(FOLDER)),
        *("--confcutdir", str(FOLDER), "-p", "no:cacheprovider", "-p", "no:trio"),
        *("-p", "tests.clients.web3_modules.plugin", "--junit-xml", str(report), "--provider", provider),
        *("--http-url", addresses.http, "--websocket-url", addresses.websocket, str(FOLDER / "modules.py")),
    )
    subprocess.run(command, cwd=CHECKOUT, timeout=900, check=False, stdout=subprocess.DEVNULL)
    cases = ElementTree.parse(report).iter("testcase")
    return {f"{case.get('classname')}.{case.get('name')}": outcome(case) for case in cases}


def outcome(case: ElementTree.Element) -> str:
    return "passed" if not len(case) else str(case[0].get("message"))


@pytest.mark.parametrize("provider", PROVIDERS)
def test_what_passes_against_geth_passes_against_this_node(provider: str, tmp_path: Path) -> None:
    with nodes.geth(tmp_path) as geth, nodes.wsnode() as wsnode, ThreadPoolExecutor() as both:
        # Most of the time they wait for blocks.
        theirs = both.submit(outcomes, geth, provider, tmp_path / "geth.xml")
        ours = outcomes(wsnode, provider, tmp_path / "wsnode.xml")
        of_geth = theirs.result()
    passed = {name for name, ended in of_geth.items() if ended == "passed"}
    assert len(passed) > len(of_geth) * 0.9
    excepted = {name for name in passed if ANOTHER_FORM.search(name) or LEFT_TO_CHANCE in name}
    failed = {name: why for name, why in ours.items() if why != "passed" and name in passed - excepted}
    assert failed == {}
    assert ours.keys() == of_geth.keys()
