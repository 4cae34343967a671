"""web3.py's tests, over each of its providers."""

from importlib import import_module
from typing import Any

modules: Any = import_module("web3._utils.module_testing")
connections: Any = import_module("web3._utils.module_testing.persistent_connection_provider")


def over(provider: str, tests: Any, **members: Any) -> type:
    """Return the tests of a class, whose fixtures are to connect with `provider`."""
    return type(tests.__name__, (tests,), {"provider": provider, "__module__": __name__, **members})


def check_client_version(_test: object, version: str) -> None:
    assert "/" in version


TestWeb3 = over("HTTPProvider", modules.Web3ModuleTest, _check_web3_client_version=check_client_version)
TestEth = over("HTTPProvider", modules.EthModuleTest)
TestNet = over("HTTPProvider", modules.NetModuleTest)
TestDebug = over("HTTPProvider", modules.GoEthereumDebugModuleTest)
TestTxPool = over("HTTPProvider", modules.GoEthereumTxPoolModuleTest)

TestAsyncEth = over("AsyncHTTPProvider", modules.AsyncEthModuleTest)
TestAsyncNet = over("AsyncHTTPProvider", modules.AsyncNetModuleTest)
TestAsyncDebug = over("AsyncHTTPProvider", modules.GoEthereumAsyncDebugModuleTest)
TestAsyncTxPool = over("AsyncHTTPProvider", modules.GoEthereumAsyncTxPoolModuleTest)

TestWebSocketEth = over("WebSocketProvider", modules.AsyncEthModuleTest)
TestWebSocketNet = over("WebSocketProvider", modules.AsyncNetModuleTest)
TestWebSocketDebug = over("WebSocketProvider", modules.GoEthereumAsyncDebugModuleTest)
TestWebSocketTxPool = over("WebSocketProvider", modules.GoEthereumAsyncTxPoolModuleTest)
TestPersistentConnection = over("WebSocketProvider", connections.PersistentConnectionProviderTest)
