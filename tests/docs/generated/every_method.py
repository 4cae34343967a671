"""Document of a network that has every method."""

from pathlib import Path
from typing import Any

from tests.memory_transport import asking
from wsnode.demo.accounts import ACCOUNTS
from wsnode.demo.development_service import DevelopmentService, DevelopmentSettings
from wsnode.demo.run import build_ethereum
from wsnode.demo.starknet_chain import build_starknet
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.node.assembly import open_network
from wsnode.node.config import Config, NetworkConfig


def every_method_document(folder: Path) -> dict[str, Any]:
    """Return the OpenRPC document of a network that has every method: a development chain beside an alt one.

    Its chains are built in `folder`.
    """
    build_ethereum(folder)
    build_starknet(folder)
    settings = NetworkConfig(str(folder))
    grow = DevelopmentService(DevelopmentSettings(0, ACCOUNTS), with_traffic=False)
    with open_network("one", settings, Config(networks={"one": settings}, open=True), grow=grow) as network:
        document: dict[str, Any] = asking(Dispatcher(network.registry, network.open_view))("rpc.discover")
        return dict(document["result"])
