"""ethers, viem and a wallet's plain requests; what each of them expects is in its script."""

import pytest

from tests.clients.conftest import RunScript
from tests.clients.nodes import HTTP_ADDRESSES, SOCKET_ADDRESSES, AddressOf, keyed
from tests.node_process import Node

pytestmark = pytest.mark.slow

LAST_BLOCK = "54"


def addresses(*names: str) -> pytest.MarkDecorator:
    every = HTTP_ADDRESSES | SOCKET_ADDRESSES
    return pytest.mark.parametrize("address_of", [pytest.param(every[name], id=name) for name in names])


@addresses("http", "bare websocket")
def test_ethers_reads_calls_and_prepares_transactions(
    run_script: RunScript, demo: Node, address_of: AddressOf
) -> None:
    run_script("ethers.mjs", address_of(demo))


@addresses("bare http", "websocket")
def test_viem_reads_calls_and_prepares_transactions(
    run_script: RunScript, demo: Node, address_of: AddressOf
) -> None:
    run_script("viem.mjs", address_of(demo))


def test_viem_works_in_batches(run_script: RunScript, demo: Node) -> None:
    run_script("viem.mjs", keyed(demo.http_url), "batch")


@addresses("http", "bare http")
def test_a_wallet_in_a_page_adds_the_network(
    run_script: RunScript, demo: Node, address_of: AddressOf
) -> None:
    run_script("wallet.mjs", address_of(demo))


def test_ethers_and_viem_encode_every_kind_of_transaction_again(run_script: RunScript, served: Node) -> None:
    run_script("history.mjs", keyed(served.http_url), keyed(served.socket_url), LAST_BLOCK)
