"""How public providers refuse `eth_getLogs`: for its size, and for the rate of calls."""

from typing import Final

import pytest

from wsnode.upstream.errors import UpstreamError, UpstreamRefusedError

OF_SIZE: Final = [
    pytest.param(UpstreamRefusedError(-32005, "query returned more than 10000 results"), id="infura"),
    pytest.param(UpstreamRefusedError(-32005, "limit exceeded"), id="bnb"),
    pytest.param(UpstreamRefusedError(-32005, "query timeout exceeded"), id="timeout"),
    pytest.param(
        UpstreamRefusedError(
            -32602,
            "Log response size exceeded. You can make eth_getLogs requests with up to a 2K block range and "
            "no limit on the response size, or you can request any block range with a cap of 10K logs",
        ),
        id="alchemy",
    ),
    pytest.param(
        UpstreamRefusedError(
            -32600,
            "Under the Free tier plan, you can make eth_getLogs requests with up to a 10 block range",
        ),
        id="alchemy-free",
    ),
    pytest.param(UpstreamRefusedError(-32602, "query exceeds max block range 100000"), id="reth"),
    pytest.param(UpstreamRefusedError(-32614, "eth_getLogs is limited to a 10,000 range"), id="quicknode"),
    pytest.param(UpstreamRefusedError(-32701, "exceed maximum block range: 50000"), id="publicnode"),
    pytest.param(
        UpstreamRefusedError(35, "ranges over 10000 blocks are not supported on freetier"), id="drpc"
    ),
    pytest.param(UpstreamRefusedError(-32008, "Response is too big"), id="jsonrpsee"),
    pytest.param(UpstreamError("timeout"), id="silent"),
    pytest.param(UpstreamError("invalid", "a message of more than 67108864 bytes"), id="too-long"),
]
OF_RATE: Final = [
    pytest.param(UpstreamRefusedError(429, "HTTP 429"), id="http"),
    pytest.param(UpstreamRefusedError(-32005, "project ID request rate exceeded"), id="infura"),
    pytest.param(
        UpstreamRefusedError(-32005, "daily request count exceeded, request rate limited"), id="daily"
    ),
    pytest.param(UpstreamRefusedError(-32005, "Too Many Requests"), id="many"),
    pytest.param(
        UpstreamRefusedError(429, "Your app has exceeded its compute units per second capacity"), id="alchemy"
    ),
    pytest.param(UpstreamRefusedError(-32016, "over rate limit"), id="base"),
    pytest.param(UpstreamRefusedError(401, "HTTP 401"), id="key"),
    pytest.param(UpstreamRefusedError(-32601, "the method eth_getLogs does not exist"), id="method"),
    pytest.param(UpstreamError("unreachable"), id="away"),
]
