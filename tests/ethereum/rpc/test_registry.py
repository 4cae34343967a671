import inspect

from tests.docs.generated.marks import without_tables
from tests.vector_files import CHECKOUT
from wsnode.jsonrpc.dispatcher import Dispatcher

SPECIFIED = {
    "eth_call",
    "eth_estimateGas",
    "eth_getBlockByHash",
    "eth_getBlockByNumber",
    "eth_getLogs",
    "eth_getStorageAt",
    "eth_getTransactionByBlockHashAndIndex",
    "eth_getTransactionByBlockNumberAndIndex",
    "eth_getTransactionByHash",
    "eth_getUncleByBlockNumberAndIndex",
}


def test_every_method_is_documented(dispatcher: Dispatcher) -> None:
    text = without_tables((CHECKOUT / "docs" / "reference/methods.md").read_text())
    assert [name for name in dispatcher.registry.methods if f"`{name}`" not in text] == []


def test_the_specifications_methods_are_there(dispatcher: Dispatcher) -> None:
    assert dispatcher.registry.methods.keys() >= SPECIFIED


def test_every_handler_says_what_it_returns(dispatcher: Dispatcher) -> None:
    handlers = {name: method.function for name, method in dispatcher.registry.methods.items()}
    assert [name for name, handler in handlers.items() if not inspect.getdoc(handler)] == []
