"""The page in a real browser: what it shows, what it calls, and how it is used."""

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.console.conftest import CONNECTED
from tests.console.devtools import Page, open_page
from tests.console.test_files import configure
from tests.node_process import Node, kept_address, post, started
from tests.sync.follow.beacon.proved_world import grown_story
from tests.sync.follow.beacon.static_beacon import static_beacon
from wsnode.demo import exchange, token
from wsnode.demo.accounts import ACCOUNTS
from wsnode.demo.genesis import demo_genesis
from wsnode.ethereum.codec.addresses import checksummed

pytestmark = pytest.mark.slow

NARROW = 360
ETHER_RESERVE = "0x44672793"
KEYS_FIRST = "document.getElementById('key-form').hidden === false"
CAN_DROP = "document.getElementById('resume-drop').ariaDisabled === 'false'"
NUMBER_IN = "Number(document.querySelector('%s').textContent.replaceAll(',', ''))"
CALLED = "/^(Result|Error)/.test(document.getElementById('call-status').textContent)"
CALL_EACH = """(async names => {
  const replies = {};
  const [list, form] = ["method-list", "call-form"].map((id) => document.getElementById(id));
  for (const name of names) {
    list.value = name;
    list.dispatchEvent(new Event("change", { bubbles: true }));
    document.getElementById("reply-indented").checked = false;
    form.requestSubmit();
    while (!/^(Result|Error|No reply)/.test(document.getElementById("call-status").textContent)) {
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    replies[name] = [document.getElementById("request").value, document.getElementById("reply").textContent];
  }
  return replies;
})(%s)"""
CHOOSE_EACH = """(() => {
  const list = document.getElementById("method-list");
  return [...list.options].map(({ value }) => {
    list.value = value;
    list.dispatchEvent(new Event("change", { bubbles: true }));
    const fields = document.querySelectorAll("#parameters :is(input, select, textarea)").length;
    return [value, fields, document.documentElement.scrollWidth];
  });
})()"""


def ask(node: Node, method: str, *parameters: object) -> Any:
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}
    return json.loads(post(node.bare(node.http_url), json.dumps(request)))["result"]


async def choose(page: Page, method: str) -> None:
    await page.evaluate(f"document.getElementById('method-list').value = {json.dumps(method)}")
    await page.evaluate("document.getElementById('method-list').dispatchEvent(new Event('change'))")


async def fill(page: Page, field: str, text: str) -> None:
    await page.evaluate(f"document.getElementById({json.dumps(field)}).focus()")
    await page.evaluate(f"document.getElementById({json.dumps(field)}).value = ''")
    await page.type(text)


async def call(page: Page) -> dict[str, object]:
    """Press Call, and return the reply as it was received."""
    await page.evaluate("document.getElementById('call-form').requestSubmit()")
    await page.until(CALLED)
    found: dict[str, object] = json.loads(await page.text("reply"))
    return found


async def test_blocks_and_logs_arrive(page: Page) -> None:
    first = await page.evaluate(NUMBER_IN % "#heads td")
    await page.until(f"{NUMBER_IN % '#heads td'} > {first + 2}")
    await page.until("document.getElementById('logs').textContent.includes('Transfer')")


async def test_figures_come_from_the_nodes_metrics(page: Page) -> None:
    tile = "[...document.querySelectorAll('#glance-tiles > div')]"
    entry = "({ children: [name, value] }) => [name.textContent, value.textContent]"
    shown = f"Object.fromEntries({tile}.map({entry}))"
    await page.until(f"{tile}.every((each) => each.children[1].textContent !== '–')")
    # The last metrics may be those of before the page's subscriptions.
    await page.until(f"(({{ WebSockets, Subscriptions }}) => WebSockets >= 1 && Subscriptions >= 2)({shown})")
    figures = await page.evaluate(shown)
    assert figures["Round trip"].split()[1] in ("µs", "ms", "s")
    await page.evaluate("document.querySelector('#metrics summary').click()")
    await page.until(
        "document.getElementById('metrics-rows').textContent.includes('wsnode_notifications_total')"
    )


async def test_every_method_without_parameters_is_called(page: Page, demo: Node) -> None:
    document = ask(demo, "rpc.discover")
    bare = [method for method in document["methods"] if not method["params"]]
    replies = await page.evaluate(CALL_EACH % json.dumps([method["name"] for method in bare]))
    assert len(replies) == len(bare) > 40
    for method in bare:
        request, reply = replies[method["name"]]
        assert json.loads(request) == {"jsonrpc": "2.0", "id": 1, "method": method["name"], "params": []}
        # Long replies are cut where they are shown.
        if "\n… and " not in reply:
            told = json.loads(reply)
            known = {error["code"] for error in method["errors"]}
            assert "result" in told or told["error"]["code"] in known, (method["name"], told)


async def test_every_method_has_a_form(page: Page, demo: Node) -> None:
    await page.resize(NARROW, 740, mobile=True)
    document = ask(demo, "rpc.discover")
    forms = {name: (fields, width) for name, fields, width in await page.evaluate(CHOOSE_EACH)}
    for method in document["methods"]:
        fields, width = forms[method["name"]]
        assert fields >= len(method["params"])
        assert width <= NARROW, method["name"]


async def test_a_form_with_parameters_calls_its_method(page: Page, demo: Node) -> None:
    account = ask(demo, "eth_accounts")[0]
    await choose(page, "eth_getBalance")
    await fill(page, "parameter-address", account)
    await fill(page, "parameter-block", "0x1")
    reply = await call(page)
    request = await page.evaluate("document.getElementById('request').value")
    assert json.loads(request)["params"] == [account, "0x1"]
    assert reply["result"] == ask(demo, "eth_getBalance", account, "0x1")


async def test_a_form_of_an_object_calls_its_method(page: Page, demo: Node) -> None:
    await choose(page, "eth_getLogs")
    await fill(page, "parameter-filter-fromBlock", "0x5")
    await fill(page, "parameter-filter-toBlock", "0x6")
    reply = await call(page)
    assert reply["result"] == ask(demo, "eth_getLogs", {"fromBlock": "0x5", "toBlock": "0x6"})


async def test_an_optional_object_is_left_out_until_a_member_is_given(page: Page) -> None:
    request = "JSON.parse(document.getElementById('request').value).params"
    await choose(page, "eth_call")
    await page.evaluate("document.querySelector('#parameters details summary').click()")
    await fill(page, "parameter-call-data", "0x00")
    assert await page.evaluate(request) == [{"data": "0x00"}]
    await fill(page, "parameter-block_overrides-number", "0x5")
    assert await page.evaluate(request) == [{"data": "0x00"}, None, None, {"number": "0x5"}]


async def test_what_does_not_fit_is_said_and_not_sent(page: Page) -> None:
    await choose(page, "eth_getBalance")
    await fill(page, "parameter-address", "0x12")
    await page.evaluate("document.getElementById('call-form').requestSubmit()")
    assert await page.evaluate("document.getElementById('request').value") == ""
    assert await page.text("parameter-address-problem") == "expected 0x… 20 bytes"
    assert "does not fit" in await page.text("call-status")
    assert await page.focused() == "parameter-address"


async def test_a_request_may_be_written_by_hand(page: Page) -> None:
    await fill(page, "request", '[{"jsonrpc":"2.0","id":7,"method":"eth_chainId"},{}]')
    await page.evaluate("document.getElementById('call-form').requestSubmit()")
    await page.until("document.getElementById('reply').textContent !== ''")
    reply = json.loads(await page.text("reply"))
    assert reply[0] == {"jsonrpc": "2.0", "id": 7, "result": "0x7a69"}
    assert reply[1]["error"]["code"] == -32600


async def test_the_reply_is_shown_as_it_was_sent(page: Page) -> None:
    await choose(page, "eth_getBlockByNumber")
    await fill(page, "parameter-block", "earliest")
    indented = await call(page)
    await page.click("reply-indented")
    plain = await page.text("reply")
    assert "\n" not in plain
    assert json.loads(plain) == indented


async def test_a_watched_call_shows_its_result_whenever_that_changes(page: Page, demo: Node) -> None:
    rows = "[...document.querySelectorAll('#watch-rows tr')]"
    cells = "(row) => [row.children[0].textContent, row.querySelector('code').title]"
    # The demo's exchange stands there as the example.
    await page.evaluate("document.getElementById('watch-form').requestSubmit()")
    await page.until(f"{rows}.length > 2")
    shown = await page.evaluate(f"{rows}.map({cells})")
    reserve = {"to": f"0x{exchange.ADDRESS.hex()}", "data": ETHER_RESERVE}
    for number, result in shown:
        assert result == ask(demo, "eth_call", reserve, hex(int(number.replace(",", ""))))
    assert all(one[1] != other[1] for one, other in pairwise(shown))

    holder = ACCOUNTS[0].address.hex()
    await fill(page, "watch-contract", f"0x{token.ADDRESS.hex()}")
    await fill(page, "watch-call", f"balanceOf(address) 0x{holder}")
    # There may be more results of it by the time of a look, but never the earlier ones beside them.
    earlier = json.dumps([result for _number, result in shown])
    results = f"{rows}.map({cells}).map(([number, result]) => result)"
    await page.press("Enter")
    await page.until(f"{rows}.length > 0 && !{results}.some((each) => {earlier}.includes(each))")
    balance = {"to": f"0x{token.ADDRESS.hex()}", "data": f"0x70a08231{holder:0>64}"}
    for number, result in await page.evaluate(f"{rows}.map({cells})"):
        assert result == ask(demo, "eth_call", balance, hex(int(number.replace(",", ""))))


async def test_what_is_no_call_is_said_and_not_watched(page: Page) -> None:
    for field, text, problem in (
        ("watch-call", "balanceOf(address) 0x12", "0x12 is no address."),
        ("watch-contract", "0x12", "An address has 0x and 40 digits."),
    ):
        await fill(page, field, text)
        await page.press("Enter")
        assert await page.text("watch-problem") == problem
        assert await page.evaluate(f"document.getElementById('{field}').ariaInvalid") == "true"
    assert await page.text("watch-count") == "Not begun"


async def test_a_dropped_subscription_goes_on_without_a_gap(page: Page) -> None:
    await page.until("!document.getElementById('resume-start').disabled")
    await page.click("resume-start")
    await page.until(f"{NUMBER_IN % '#resume-logs-received'} > 0")
    for drops, seconds in enumerate(("5", "0"), start=1):
        await page.evaluate(f"document.getElementById('resume-away').value = '{seconds}'")
        await page.until(CAN_DROP)
        await page.click("resume-drop")
        await page.until(f"document.getElementById('resume-drops').textContent === '{drops}'")
        dropped = await page.evaluate(NUMBER_IN % "#resume-heads-received")
        await page.until(CAN_DROP)
        await page.until(f"{NUMBER_IN % '#resume-heads-received'} > {dropped}")
    # Blocks were made during the drop, so some were caught up; all of it was compared with the node's logs.
    last = await page.evaluate(NUMBER_IN % "#heads td")
    await page.until(f"{NUMBER_IN % '#resume-checked'} >= {last}")
    assert int(await page.text("resume-caught-up")) > 0
    assert await page.evaluate("document.querySelectorAll('#resume-strip .replayed').length") > 0
    for subscription in ("heads", "logs"):
        for count in ("missing", "twice"):
            assert await page.text(f"resume-{subscription}-{count}") == "0"


async def test_colours_follow_the_users_preference(page: Page) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    await page.prefer("light")
    light = await page.evaluate(ground)
    await page.prefer("dark")
    assert light == "rgb(245, 246, 247)"
    assert await page.evaluate(ground) == "rgb(16, 20, 23)"


async def test_a_phone_shows_all_without_scrolling_sideways(page: Page) -> None:
    await page.resize(NARROW, 740, mobile=True)
    await page.click("resume-start")
    await page.until("document.getElementById('resume-cursor').textContent.length > 20")
    await call(page)
    await page.evaluate(f"globalThis.wider = (each) => each.getBoundingClientRect().right > {NARROW}; 0")
    every = "[...document.querySelectorAll('main *, header *')]"
    seen = f"{every}.filter((each) => !each.closest('.scroll, .unseen, svg'))"
    assert await page.evaluate(f"{seen}.filter(wider).map((each) => each.outerHTML)") == []
    assert await page.evaluate("document.documentElement.scrollWidth") == NARROW


async def test_the_page_is_used_by_keyboard_alone(page: Page) -> None:
    await page.press("Tab")
    assert await page.evaluate("document.activeElement.className") == "skip"
    await page.press("Enter")
    await page.until("location.hash === '#main'")
    seen = list[str]()
    while (place := await page.focused()) != "method-search":
        assert len(seen) < 30, seen
        await page.press("Tab")
        seen.append(place)
    assert seen[-1] == "resume-away"
    await page.type("eth_chainid")
    await page.press("ArrowDown")
    assert await page.focused() == "method-list"
    assert await page.text("method-name") == "eth_chainId"
    outline = await page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    for expected in ("BUTTON", "request", "BUTTON"):
        await page.press("Tab")
        assert await page.focused() == expected
    await page.press("Enter")
    await page.until(CALLED)
    assert json.loads(await page.text("reply"))["result"] == "0x7a69"


async def test_everything_comes_from_the_node_itself(page: Page, demo: Node) -> None:
    places = {urlsplit(url)._replace(scheme="").netloc for url in page.requests}
    assert places == {urlsplit(demo.http_url).netloc}


async def test_without_a_wallet_the_page_says_so(page: Page) -> None:
    await page.click("wallet-add")
    await page.until(
        "document.getElementById('wallet-status').textContent.startsWith('This browser has no wallet')"
    )


async def test_a_wallet_is_asked_to_add_the_chain(browser: str, demo: Node) -> None:
    wallet = (
        "globalThis.ethereum = { asked: [], async request(what) { this.asked.push(what); return null; } }"
    )
    async with open_page(browser) as page:
        await page.send("Page.enable")
        await page.send("Page.addScriptToEvaluateOnNewDocument", source=wallet)
        await page.open(demo.bare(demo.http_url))
        await page.until("document.getElementById('chain-id').textContent !== '–'")
        await page.click("wallet-add")
        await page.until("document.getElementById('wallet-status').textContent === 'Added to the wallet.'")
        (asked,) = await page.evaluate("ethereum.asked")
    assert asked["method"] == "wallet_addEthereumChain"
    assert asked["params"] == [
        {
            "chainId": "0x7a69",
            "chainName": "wsnode 31337",
            "nativeCurrency": {"name": "Ether", "symbol": "ETH", "decimals": 18},
            "rpcUrls": [demo.bare(demo.http_url)],
        }
    ]


async def test_the_page_comes_back_with_its_node(browser: str, tmp_path: Path) -> None:
    with kept_address() as address:
        options = ("dev", "--listen", address, "--data", str(tmp_path), "--quiet")
        async with open_page(browser) as page:
            with started(*options):
                await page.open(f"http://{address}/")
                await page.until(CONNECTED)
            await page.until("document.getElementById('state').textContent.startsWith('Disconnected')")
            with started(*options) as node:
                await page.until(CONNECTED)
                ask(node, "evm_mine")
                await page.until("document.querySelector('#heads td')?.textContent === '1'")


def following(folder: Path, upstream: str, more: str = "") -> Path:
    """Return a configuration of a node that follows another, whose folder has begun."""
    genesis, file = folder / "genesis.json", folder / "wsnode.toml"
    genesis.write_bytes(demo_genesis())
    begun = ("--data", str(folder / "data"), "--genesis", str(genesis), "--upstream", upstream)
    with started("follow", *begun, "--listen", "127.0.0.1:0"):
        pass
    file.write_text(
        'listen = "127.0.0.1:0"\nopen = true\nconsole = true\n[networks.main]\ndata = "data"\n'
        f'[networks.main.follow]\nupstreams = ["{upstream}"]\n{more}'
    )
    return file


async def test_a_node_that_follows_others_shows_its_lag_and_its_upstreams(
    browser: str, demo: Node, tmp_path: Path
) -> None:
    file = following(tmp_path, demo.bare(demo.socket_url))
    await until_shown({"glance-tiles": r"Lag, blocks\d+Upstreams1 of 1"}, browser, file)


async def test_a_node_whose_head_is_proved_shows_how_old_the_proof_is(
    browser: str, demo: Node, tmp_path: Path
) -> None:
    with static_beacon() as (beacon, checkpoint):
        proved = f'beacon = ["{beacon}"]\ncheckpoint = "{checkpoint}"\nold_checkpoint = true\n'
        file = following(tmp_path, demo.bare(demo.socket_url), proved)
        begun = grown_story()["bootstrap"]["object"]["data"]["header"]
        block = begun["execution"]["block_hash"]
        shown = {
            "glance-tiles": r"Proved, slots ago[\d,]+Signed by0",
            "proof-head": rf"proved 0x{block[2:6]}…{block[-4:]} \(slot 16, 0 of 32 signed\), .* ago; final",
            "proof-state": r"catching up: the proved head is \d+ periods behind",
            "proof-urls": rf"{re.escape(beacon)}followed––\d+",
        }
        await until_shown(shown, browser, file)


async def until_shown(patterns: dict[str, str], browser: str, file: Path) -> None:
    """Return once the page of a node has these texts, by the ids of elements."""
    with started("serve", "--config", str(file)) as node:
        async with open_page(browser) as page:
            await page.open(node.bare(node.http_url))
            await page.until(CONNECTED)
            for name, pattern in patterns.items():
                text = f"document.getElementById({json.dumps(name)}).textContent"
                await page.until(f"new RegExp({json.dumps(pattern)}).test({text})")
            assert page.complaints == []


async def test_a_node_with_keys_is_shown_to_who_has_one(browser: str, imported: Path, tmp_path: Path) -> None:
    file, key = configure(imported, tmp_path)
    with started("serve", "--config", str(file)) as node:
        async with open_page(browser) as page:
            await page.open(node.bare(node.http_url))
            await page.until(KEYS_FIRST)
            for text in ("wrong", key):
                await fill(page, "key", text)
                await page.press("Enter")
                if text == "wrong":
                    await page.until("document.getElementById('key-problem').textContent !== ''")
            await page.until(CONNECTED)
            # The key is never shown.
            assert key not in await page.evaluate("document.body.textContent")


async def test_accounts_keys_and_the_token_of_a_demo_stand_under_connect(page: Page) -> None:
    assert await page.evaluate("document.getElementById('accounts').closest('section').id") == "connect"
    rows = "[...document.querySelectorAll('#accounts-rows tr')]"
    cells = "(row) => [...row.querySelectorAll('code')].map((code) => code.textContent)"
    assert await page.evaluate(f"{rows}.map({cells})") == [
        [checksummed(account.address), f"0x{account.secret.hex()}"] for account in ACCOUNTS
    ]
    assert checksummed(token.ADDRESS) in await page.text("contracts")


async def test_another_chain_at_the_same_address_is_noticed_and_followed(browser: str) -> None:
    received = "document.getElementById('resume-heads-received').textContent"
    with kept_address() as address:
        options = ("dev", "--listen", address, "--quiet", "--chain-id")
        async with open_page(browser) as page:
            with started(*options, "7") as node:
                ask(node, "anvil_mine", hex(40))
                await page.open(f"http://{address}/")
                await page.until(CONNECTED)
                await page.until("!document.getElementById('resume-start').disabled")
                await page.click("resume-start")
                await page.until(f"{received} === '20'")
            with started(*options, "8") as node:
                journal = "document.getElementById('resume-journal').textContent"
                await page.until(f"{journal}.includes('Another chain')")
                await page.until(f"{received} === '1'")
                ask(node, "evm_mine")
                await page.until(f"{received} === '2'")
            for count in ("missing", "twice"):
                assert await page.text(f"resume-heads-{count}") == "0"
