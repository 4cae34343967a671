"""Every case of execution-apis before `wsnode follow --light` behind a geth that serves that chain.

docs/reference/light-cases.md lists what comes of each. Where it does not say what is true any more, the
test names a file with its new text.
"""

import json
from collections.abc import Iterator
from functools import partial
from itertools import groupby
from pathlib import Path

import pytest

from tests.conformance.cases import Transport, disagreement
from tests.conformance.test_execution_apis import CASES
from tests.geth_process import GETH
from tests.node_process import PATIENCE, post, started, until
from tests.peers.geth import started_geth
from tests.scenarios.test_following import head, plain, result
from tests.vector_files import CHECKOUT, require_vectors
from wsnode.verify.cases import Case

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(GETH is None, reason="no `geth` on the path"),
    pytest.mark.skipif(not CASES, reason="no vectors `execution-apis/tests`"),
]

PAGE = CHECKOUT / "docs/reference/light-cases.md"
READS_MUCH = {"eth_simulateV1"}
"""Each block of a simulation reads more of the state, and its root may depend on what no proof shows."""
REFUSALS = {4444: "pruned history unavailable", -32005: "it reads more of the state than may be fetched"}
WITHOUT_STATE = {"eth_capabilities"}
"""A light folder says that it has no state of its own."""
TRIES = 4
"""What a call has fetched before it was refused is kept, so that it comes further the next time."""
COLUMNS = 110


@pytest.fixture(scope="module")
def light(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Transport]:
    """Return the way to a light folder that has the whole chain."""
    vectors, folder = require_vectors("execution-apis"), tmp_path_factory.mktemp("light")
    with started_geth(folder, vectors / "genesis.json", vectors / "chain.rlp") as geth:
        geth.send(json.loads((vectors / "headfcu.json").read_text()), engine=True)
        (folder / "ours").mkdir()
        told = ("--genesis", str(vectors / "genesis.json"), "--upstream", geth.url, "--agree", "1")
        where = ("--data", str(folder / "ours"), "--listen", "127.0.0.1:0", "--open")
        with started("follow", "--light", *told, *where):
            # It makes the folder.
            pass
        file = folder / "wsnode.toml"
        file.write_text(patient_config(folder / "ours", geth.url))
        with started("serve", "--config", str(file)) as node:
            until("the head", lambda: head(plain(node)) == head(geth.url))
            until("the window", lambda: result(plain(node), "wsnode_status")["earliest"] == "0x0")
            yield partial(post, plain(node))


def patient_config(data: Path, upstream: str) -> str:
    """Return the configuration of a node whose calls end by what they read, however slow the machine is."""
    limits = f"call_seconds = {PATIENCE}\ntrace_seconds = {PATIENCE}\n"
    follow = f'upstreams = ["{upstream}"]\nagree = 1\n'
    served = f'listen = "127.0.0.1:0"\nopen = true\n[limits]\n{limits}'
    return f'{served}[networks.main]\ndata = "{data}"\n[networks.main.follow]\n{follow}'


@pytest.mark.nightly
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_case_is_answered_as_from_an_import_or_refused(case: Case, light: Transport) -> None:
    difference = disagreement(case, light)
    if difference is None:
        return
    if case.methods <= WITHOUT_STATE:
        capabilities = json.loads(light(case.exchanges[0].request) or "")["result"]
        assert capabilities["state"] == capabilities["stateproofs"] == {"disabled": True}
        return
    assert case.methods <= READS_MUCH, difference
    for exchange in case.exchanges:
        reply = json.loads(light(exchange.request) or "")
        if "result" in reply:
            # The first try has fetched what it lacked.
            assert disagreement(case, light) is None
            return
        assert reply["error"]["message"].startswith(REFUSALS[reply["error"]["code"]])


def test_the_page_lists_what_comes_of_each_case(light: Transport, tmp_path: Path) -> None:
    answered = [
        case.name
        for case in CASES
        if case.methods <= WITHOUT_STATE or any(disagreement(case, light) is None for _ in range(TRIES))
    ]
    refused = [case.name for case in CASES if case.name not in answered]
    text = page(answered, refused)
    (written := tmp_path / PAGE.name).write_text(text)
    assert PAGE.read_text() == text, f"it should be {written}"


def page(answered: list[str], refused: list[str]) -> str:
    """Return the text of the page."""
    return f"""# Cases of execution-apis in a light folder

The Ethereum project keeps [cases](https://github.com/ethereum/execution-apis): requests on one chain, with
the replies that are right. Here a [light folder](light.md) of that chain is asked, with geth as its only
upstream. Its window reaches down to the genesis block. A test runs all cases and compares this page with what
comes of them.

## Answered

{len(answered)} cases get the reply that a full folder gives after an import, error messages included. One
that reads more of the state than may be fetched for one call (-32005) is asked again: what it got is kept.
`eth_capabilities` says that there is no state.

{listed(answered)}
## Refused

{len(refused)} cases are refused even so.

{listed(refused)}"""


def listed(names: list[str]) -> str:
    """Return cases as a list of methods."""
    lines = ""
    for method, cases in groupby(sorted(names), lambda name: name.split("/")[0]):
        line = f"- `{method}`:"
        for name in cases:
            word = f" {name.split('/')[1]},"
            if len(line) + len(word) > COLUMNS:
                lines, line = f"{lines}{line}\n", " "
            line += word
        lines += f"{line.removesuffix(',')}\n"
    return lines
