import socket
from time import perf_counter

from wsnode.server.limits import Limits
from wsnode.server.transport.readiness import Arrivals
from wsnode.server.transport.transport import SocketTransport
from wsnode.server.turns.busy_poll import (
    AWAKE_SECONDS,
    DISTRUST,
    ENOUGH,
    QUICK_SECONDS,
    TURN_SECONDS,
    Dialogue,
)
from wsnode.server.turns.slow_lane import SlowLane

QUICK, SLOW = QUICK_SECONDS / 2, QUICK_SECONDS * 2


class Client:
    """Sends something each `pace` seconds of a clock that only it moves; says whether it was awaited."""

    def __init__(self, pace: float = QUICK) -> None:
        self.now, self.pace = 0.0, pace
        self.tried = 0

    def clock(self) -> float:
        return self.now

    def receive(self) -> bytes:
        self.now += self.pace
        return b"waited"

    def receive_by(self, deadline: float) -> bytes | None:
        self.tried += 1
        if self.now + self.pace > deadline:
            self.now = deadline
            return None
        self.now += self.pace
        return b"awake"


def dialogue_with(client: Client) -> Dialogue:
    return Dialogue(SlowLane(Limits()), client.clock)


def exchange(dialogue: Dialogue, client: Client, messages: int) -> bytes:
    if (data := dialogue.receive(client, client, messages)) is None:
        data = client.receive()
        dialogue.heard(client)
    return data


def exchanges(dialogue: Dialogue, client: Client, count: int, messages: int = 1) -> list[bytes]:
    return [exchange(dialogue, client, messages) for _ in range(count)]


def test_a_client_that_talks_quickly_and_alone_is_awaited_awake() -> None:
    client = Client(pace=AWAKE_SECONDS / 2)
    dialogue = dialogue_with(client)
    assert exchanges(dialogue, client, ENOUGH + 2) == [b"waited"] * (ENOUGH + 1) + [b"awake"]


def test_others_have_their_turn_all_the_same() -> None:
    client = Client(pace=AWAKE_SECONDS / 2)
    heard = exchanges(dialogue_with(client), client, 200)
    awake = b"".join(word[:1] for word in heard[ENOUGH + 1 :]).split(b"w")
    assert 1 < max(map(len, awake)) <= TURN_SECONDS / client.pace + 1


def test_a_slow_client_is_not_awaited_awake() -> None:
    client = Client(pace=SLOW)
    exchanges(dialogue_with(client), client, 100)
    assert client.tried == 0


def test_a_client_that_sends_many_requests_at_once_is_not_awaited_awake() -> None:
    client = Client()
    exchanges(dialogue_with(client), client, 100, messages=16)
    assert client.tried == 0


def test_a_client_that_now_and_then_sends_several_is_not_trusted_for_a_while() -> None:
    client = Client(pace=AWAKE_SECONDS / 2)
    dialogue = dialogue_with(client)
    exchanges(dialogue, client, 1, messages=2)
    exchanges(dialogue, client, 1, messages=2)
    exchanges(dialogue, client, DISTRUST)
    assert client.tried == 0
    exchanges(dialogue, client, ENOUGH + 1)
    assert client.tried > 0


def test_two_clients_that_take_turns_are_not_awaited_awake() -> None:
    client, other = Client(), Client()
    dialogue = dialogue_with(client)
    for _ in range(50):
        exchanges(dialogue, client, 1)
        exchanges(dialogue, other, 1)
    assert client.tried == other.tried == 0


def test_nobody_is_awaited_awake_while_a_slow_call_runs() -> None:
    client = Client()
    lane = SlowLane(Limits())
    lane.calls.take("anybody")
    exchanges(Dialogue(lane, client.clock), client, 100)
    assert client.tried == 0


def test_a_request_that_did_not_come_costs_trust() -> None:
    # Quick enough to be expected, but never while another client is active.
    client = Client(pace=AWAKE_SECONDS * 1.5)
    exchanges(dialogue_with(client), client, 10 * (ENOUGH + DISTRUST))
    assert 1 <= client.tried <= 11


def test_a_socket_is_tried_until_the_deadline() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        transport = SocketTransport(ours, Arrivals())
        assert transport.receive_by(perf_counter()) is None
        theirs.send(b"request")
        assert transport.receive_by(perf_counter()) == b"request"
        theirs.close()
        assert transport.receive_by(perf_counter()) == b""
        ours.close()
        assert transport.receive_by(perf_counter()) == b""
