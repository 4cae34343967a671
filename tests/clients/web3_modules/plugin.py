"""The fixtures that web3.py's tests ask for; their asynchronous ones share one event loop."""

import asyncio
import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import web3
from web3._utils.module_testing.utils import RequestMocker
from web3.middleware import SignAndSendRawMiddlewareBuilder

from tests.clients.web3_modules.furniture import KEY, Furniture, await_next_block, contract_data, furnish

MAX_SECONDS = 120
"""A test that waits for what never comes ends after this time."""
BETWEEN_BLOCKS = re.compile("replace_transaction|modify_transaction|set_code|unmined")
RUNNER = pytest.StashKey[asyncio.Runner]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--http-url", required=True)
    parser.addoption("--websocket-url", required=True)
    parser.addoption("--provider", required=True)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "asyncio: runs in the event loop of this plugin")
    config.stash[RUNNER] = asyncio.Runner()


def pytest_unconfigure(config: pytest.Config) -> None:
    config.stash[RUNNER].close()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Function]) -> None:
    """Keep the tests over one provider: some of them can pass but once on a chain."""
    items[:] = [item for item in items if item.cls.provider == config.getoption("--provider")]


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is a coroutine function."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    run_test = pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names})
    pyfuncitem.config.stash[RUNNER].run(_within(run_test))
    return True


async def _within(awaitable: Any) -> Any:
    async with asyncio.timeout(MAX_SECONDS):
        return await awaitable


@pytest.fixture(scope="session")
def wait(pytestconfig: pytest.Config) -> Callable[[Any], Any]:
    """Return a function that gives what something awaitable comes to."""
    return lambda awaitable: pytestconfig.stash[RUNNER].run(_within(awaitable))


@pytest.fixture(scope="session")
def owner(pytestconfig: pytest.Config) -> Any:
    """Return a `Web3` of ours, which signs by itself."""
    w3 = web3.Web3(web3.HTTPProvider(pytestconfig.getoption("--http-url")))
    w3.middleware_onion.inject(SignAndSendRawMiddlewareBuilder.build(KEY), layer=0)
    w3.eth.default_account = w3.eth.account.from_key(KEY).address
    return w3


@pytest.fixture(scope="session")
def furniture(owner: Any) -> Furniture:
    return furnish(owner)


@pytest.fixture(autouse=True)
def _behind_a_block(request: pytest.FixtureRequest) -> None:
    """Begin a test of transactions that wait right behind a block, when none waits any more."""
    if BETWEEN_BLOCKS.search(request.node.name):
        await_next_block(request.getfixturevalue("owner"))


@pytest.fixture(scope="class")
def w3(request: pytest.FixtureRequest, pytestconfig: pytest.Config) -> Any:
    """Return a `Web3` over the provider that the class of the test names."""
    kind = request.cls.provider
    url = pytestconfig.getoption("--http-url" if kind == "HTTPProvider" else "--websocket-url")
    provider = getattr(web3, kind)(url)
    return web3.Web3(provider)


@pytest.fixture(scope="class")
def async_w3(
    request: pytest.FixtureRequest, pytestconfig: pytest.Config, wait: Callable[[Any], Any]
) -> Iterator[Any]:
    """Return an `AsyncWeb3` over the provider that the class of the test names."""
    if request.cls.provider == "AsyncHTTPProvider":
        yield web3.AsyncWeb3(web3.AsyncHTTPProvider(pytestconfig.getoption("--http-url")))
        return
    provider = web3.WebSocketProvider(pytestconfig.getoption("--websocket-url"))
    wait(provider.connect())
    yield web3.AsyncWeb3(provider)
    wait(provider.disconnect())


@pytest.fixture(scope="session")
def request_mocker() -> type[RequestMocker]:
    return RequestMocker


@pytest.fixture(scope="session")
def skip_if_testrpc() -> Callable[[Any], None]:
    return lambda _w3: None


@pytest.fixture(scope="session")
def async_skip_if_testrpc() -> Callable[[Any], None]:
    return lambda _w3: None


@pytest.fixture(scope="session")
def keyfile_account_pkey() -> str:
    return KEY


@pytest.fixture(scope="session")
def keyfile_account_address() -> Any:
    return web3.Account.from_key(KEY).address


def _of_furniture(name: str, read: Callable[[Furniture], Any]) -> Any:
    @pytest.fixture(scope="session", name=name)
    def found(furniture: Furniture) -> Any:
        return read(furniture)

    return found


def _contract(name: str, of_contract: str, client: str) -> Any:
    @pytest.fixture(scope="class", name=name)
    def found(furniture: Furniture, request: pytest.FixtureRequest) -> Any:
        data = contract_data(of_contract)
        return request.getfixturevalue(client).eth.contract(furniture.addresses[of_contract], **data)

    return found


def _block(name: str, read: Callable[[Furniture], Any]) -> tuple[Any, Any]:
    @pytest.fixture(scope="class", name=name)
    def found(furniture: Furniture, w3: Any) -> Any:
        return w3.eth.get_block(read(furniture))

    @pytest.fixture(scope="class", name=f"async_{name}")
    def awaited(furniture: Furniture, async_w3: Any, wait: Callable[[Any], Any]) -> Any:
        return wait(async_w3.eth.get_block(read(furniture)))

    return found, awaited


def _same(name: str, as_other: str) -> Any:
    @pytest.fixture(scope="session", name=name)
    def found(request: pytest.FixtureRequest) -> Any:
        return request.getfixturevalue(as_other)

    return found


keyfile_account_address_dual_type = _same("keyfile_account_address_dual_type", "keyfile_account_address")
async_keyfile_account_address = _same("async_keyfile_account_address", "keyfile_account_address")
async_keyfile_account_address_dual_type = _same(
    "async_keyfile_account_address_dual_type", "keyfile_account_address"
)
mined_txn_hash = _of_furniture("mined_txn_hash", lambda found: found.transfer)
txn_hash_with_log = _of_furniture("txn_hash_with_log", lambda found: found.log)
math_contract_deploy_txn_hash = _of_furniture(
    "math_contract_deploy_txn_hash", lambda found: found.math_deployment
)
math_contract_address = _of_furniture("math_contract_address", lambda found: found.addresses["math"])
async_math_contract_address = _of_furniture(
    "async_math_contract_address", lambda found: found.addresses["math"]
)
emitter_contract_address = _of_furniture("emitter_contract_address", lambda found: found.addresses["emitter"])
async_emitter_contract_address = _of_furniture(
    "async_emitter_contract_address", lambda found: found.addresses["emitter"]
)
empty_block, async_empty_block = _block("empty_block", lambda found: found.empty_block)
block_with_txn, async_block_with_txn = _block("block_with_txn", lambda found: found.transfer_block)
block_with_txn_with_log, async_block_with_txn_with_log = _block(
    "block_with_txn_with_log", lambda found: found.log_block
)
math_contract = _contract("math_contract", "math", "w3")
emitter_contract = _contract("emitter_contract", "emitter", "w3")
revert_contract = _contract("revert_contract", "revert", "w3")
storage_contract = _contract("storage_contract", "storage", "w3")
panic_errors_contract = _contract("panic_errors_contract", "panic_errors", "w3")
offchain_lookup_contract = _contract("offchain_lookup_contract", "offchain_lookup", "w3")
async_math_contract = _contract("async_math_contract", "math", "async_w3")
async_emitter_contract = _contract("async_emitter_contract", "emitter", "async_w3")
async_revert_contract = _contract("async_revert_contract", "revert", "async_w3")
async_storage_contract = _contract("async_storage_contract", "storage", "async_w3")
async_panic_errors_contract = _contract("async_panic_errors_contract", "panic_errors", "async_w3")
async_offchain_lookup_contract = _contract("async_offchain_lookup_contract", "offchain_lookup", "async_w3")
