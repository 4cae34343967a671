"""A block with ten thousand logs, and the page that watches."""

import json
from typing import Any

import pytest

from tests.console.conftest import CONNECTED
from tests.console.devtools import open_page
from tests.node_process import post, started

pytestmark = pytest.mark.slow

LOGS = 10_000
CONTRACT = "0x00000000000000000000000000000000000010f5"
# A loop: PUSH2 count, JUMPDEST, LOG0 of 32 bytes, count - 1, JUMPI while it is not 0.
CODE = "0x612710" + "5b" + "60206000a0" + "60019003" + "80600357" + "00"


async def test_ten_thousand_logs_leave_the_page_alive(browser: str) -> None:
    with started("dev", "--listen", "127.0.0.1:0", "--quiet") as node:

        def ask(method: str, *parameters: object) -> Any:
            request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}
            reply = json.loads(post(node.http_url, json.dumps(request)))
            assert "error" not in reply, reply
            return reply["result"]

        ask("anvil_setCode", CONTRACT, CODE)
        sender = ask("eth_accounts")[0]
        async with open_page(browser) as page:
            await page.open(node.bare(node.http_url))
            await page.until(CONNECTED)
            await page.click("resume-start")
            await page.until("document.getElementById('resume-heads-received').textContent === '1'")
            ask("eth_sendTransaction", {"from": sender, "to": CONTRACT, "gas": "0xe4e1c0"})
            await page.until(f"document.getElementById('resume-logs-received').textContent === '{LOGS:,}'")
            await page.until(
                f"document.getElementById('logs-count').textContent.startsWith('{LOGS:,} received')"
            )
            assert await page.evaluate("document.querySelectorAll('#logs tr').length") == 60
            # The page still does what it is asked for.
            await page.evaluate("document.getElementById('call-form').requestSubmit()")
            await page.until("document.getElementById('call-status').textContent.startsWith('Result')")
            assert await page.text("resume-logs-twice") == "0"
            assert page.complaints == []
