"""What is printed of controls: enough to know them again, and no secret."""

import pytest

from wsnode.demo.terminal.event_printer import _control
from wsnode.ethereum.development.control import ForkRequest
from wsnode.ethereum.rpc.development.parameters import ResetOptions


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://node.example:8443/v2/KEY?token=KEY", "https://node.example:8443 7"),
        ("wss://user:KEY@node.example/", "wss://node.example 7"),
        (None, "7"),
    ],
)
def test_the_node_of_a_reset_is_shown_without_what_may_be_a_key(url: str | None, shown: str) -> None:
    printed = _control("anvil_reset", [ResetOptions(ForkRequest(url, 7))], b"null")
    assert printed == f"anvil_reset {shown}\n\n"
