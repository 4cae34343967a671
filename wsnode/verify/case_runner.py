"""Run of every case on a node over each transport, with a line for each difference."""

from collections.abc import Callable, Iterator, Sequence

import msgspec
import trio

from wsnode.verify.addresses import Addresses
from wsnode.verify.cases import Case, Exchange
from wsnode.verify.comparison import reply_difference
from wsnode.verify.results import CaseResult
from wsnode.verify.transports import HttpTransport, RequestTransport, WebSocketTransport

ASKED_ONCE = frozenset({"eth_sendRawTransaction"})
"""Methods with another answer when they are asked again."""


class CaseTerms(msgspec.Struct, frozen=True):
    """Settings of a verification: `messages` is True to compare the messages of errors too, and `seconds` is
    the wait for a reply.
    """

    messages: bool = False
    seconds: float = 30.0


async def verify(
    addresses: Addresses, cases: Sequence[Case], terms: CaseTerms, say: Callable[[str], None]
) -> list[CaseResult]:
    """Return the results of cases, each over HTTP and over WebSocket, after a line for every difference."""
    async with trio.open_nursery() as nursery:
        transports = (WebSocketTransport(addresses.websocket, nursery), HttpTransport(addresses.http))
        results = await put(cases, transports, terms, say)
        for transport in transports:
            await transport.close()
        nursery.cancel_scope.cancel()
    return results


async def put(
    cases: Sequence[Case],
    transports: Sequence[RequestTransport],
    terms: CaseTerms,
    say: Callable[[str], None],
) -> list[CaseResult]:
    """Return the results of cases over all of `transports`, after a line for every difference."""
    results = []
    for case in cases:
        began = trio.current_time()
        lines = await differences(case, transports, terms)
        group, _, name = case.name.rpartition("/")
        results.append(CaseResult(name, group, trio.current_time() - began, lines))
        for line in lines:
            say(line)
    return results


async def differences(case: Case, transports: Sequence[RequestTransport], terms: CaseTerms) -> list[str]:
    """Return a line for each difference, one for several transports where they agree."""
    found: dict[tuple[int, str], list[str]] = {}
    for transport in transports[:1] if case.methods & ASKED_ONCE else transports:
        for number, exchange in enumerate(case.exchanges):
            text = await difference_of(exchange, transport, terms, shape_only=case.shape_only)
            if text is not None:
                found.setdefault((number, text), []).append(transport.name)
    return list(_lines(case, found))


def _lines(case: Case, found: dict[tuple[int, str], list[str]]) -> Iterator[str]:
    for (number, text), names in sorted(found.items(), key=lambda item: item[0][0]):
        name = case.name if len(case.exchanges) == 1 else f"{case.name} #{number + 1}"
        yield f"FAIL {name} over {' and '.join(names)}: {text}"


async def difference_of(
    exchange: Exchange, transport: RequestTransport, terms: CaseTerms, *, shape_only: bool
) -> str | None:
    """Return the difference of a node's reply from the expected one, or the reason why there is no reply, as
    a sentence; None if it is equal.
    """
    try:
        with trio.fail_after(terms.seconds):
            reply = await transport.ask(exchange.request)
    except trio.TooSlowError:
        return f"no reply in {terms.seconds:g} s"
    except OSError as error:
        return f"no reply: {error}"
    return reply_difference(
        exchange.request, reply, exchange.reply, shape_only=shape_only, messages=terms.messages
    )
