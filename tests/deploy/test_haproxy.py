"""Three nodes of one chain behind HAProxy, with the configuration that is shipped."""

import random
import re
import shutil
import signal
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

import pytest

from tests.clients.resuming.storm import Chain
from tests.clients.subscribers.proxy import Proxy
from tests.deploy.wanderers import Place, Wanderer
from tests.node_process import Node, kept_address, run, started, until

HAPROXY: Final = shutil.which("haproxy")
CONFIGURATION: Final = Path(__file__).parents[2] / "deploy/haproxy/haproxy.cfg"
COMPOSE: Final = Path(__file__).parents[2] / "deploy/compose/compose.yaml"
CLIENTS: Final = 30
NAMES: Final = ("one", "two", "three")

needs_haproxy = pytest.mark.skipif(HAPROXY is None, reason="no `haproxy` on the path")


@needs_haproxy
def test_the_configuration_is_valid() -> None:
    assert HAPROXY is not None
    command = [HAPROXY, "-c", "-f", str(CONFIGURATION)]
    checked = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (checked.returncode, checked.stderr) == (0, ""), checked.stderr


def test_compose_puts_its_services_in_the_places_of_the_shipped_addresses() -> None:
    compose, text = COMPOSE.read_text(), CONFIGURATION.read_text()
    replaced = dict(re.findall(r"s/([0-9\\.]+):/(\w+):/", compose))
    for address, service in replaced.items():
        text, count = re.subn(address + ":", f"{service}:", text)
        assert count == 1
        assert re.search(rf"(?m)^  {service}:$", compose)
    assert re.findall(r"(?m)^    server (\w+) (\w+):8545$", text) == [(name, name) for name in NAMES]


def test_compose_starts_nodes_with_options_that_there_are() -> None:
    options = re.findall(r"(?m)^    - (--[a-z]+)", COMPOSE.read_text())
    known = run("follow", "--help").stdout
    assert options
    assert [option for option in options if f"{option} " not in known] == []


class Nodes:
    """Nodes that follow one upstream, each at an address of its own, over kills and restarts."""

    def __init__(
        self, folder: Path, genesis: Path, upstreams: dict[str, str], addresses: dict[str, str]
    ) -> None:
        self._folder = folder
        self._genesis = genesis
        self._upstreams = upstreams
        self.addresses = addresses
        self._running: dict[str, tuple[Node, ExitStack]] = {}

    def start(self, name: str) -> None:
        """Start a node, which goes on with its folder."""
        stack = ExitStack()
        options = ("--data", str(self._folder / name), "--genesis", str(self._genesis))
        where = ("--upstream", self._upstreams[name], "--listen", self.addresses[name])
        node = stack.enter_context(started("follow", *options, *where, "--open"))
        self._running[name] = node, stack

    def stop(self, name: str, number: signal.Signals) -> int:
        """End a node, and return its exit status."""
        node, stack = self._running.pop(name)
        status = node.stop(number)
        stack.close()
        return status

    def is_ready(self, name: str) -> bool:
        with suppress(OSError), urllib.request.urlopen(f"http://{self.addresses[name]}/readyz", timeout=5):
            return True
        return False

    def close(self) -> None:
        for name in list(self._running):
            self.stop(name, signal.SIGTERM)


def configured(addresses: dict[str, str], clients: str, operators: str) -> str:
    """Return the shipped configuration with these addresses in the places of its own."""
    text = CONFIGURATION.read_text()
    for name, address in addresses.items():
        text, count = re.subn(rf"(?m)^    server {name} \S+$", f"    server {name} {address}", text)
        assert count == 1
    ours = {"bind :8545": f"bind {clients}", "bind 127.0.0.1:8404": f"bind {operators}"}
    # Half as many as files can be open here.
    for old, new in (ours | {"    maxconn 40000": "    maxconn 1000"}).items():
        assert text.count(old) == 1
        text = text.replace(old, new)
    return text


@contextmanager
def balancing(folder: Path, addresses: dict[str, str]) -> Iterator[str]:
    """Run HAProxy before nodes, and give its address."""
    assert HAPROXY is not None
    with kept_address() as clients, kept_address() as operators:
        file = folder / "haproxy.cfg"
        file.write_text(configured(addresses, clients, operators))
        with (folder / "haproxy.log").open("wb") as log:
            process = subprocess.Popen([HAPROXY, "-f", str(file)], stdout=log, stderr=log)
        try:
            until("a node answers through it", lambda: answers(clients))
            yield clients
        finally:
            process.kill()
            process.wait()


def answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"http://{address}/healthz", timeout=5):
            return True
    except (OSError, urllib.error.HTTPError):
        return False


@contextmanager
def three_nodes(folder: Path) -> Iterator[tuple[Nodes, Chain, Proxy]]:
    """Run nodes that follow a development chain, one of them through a line that can be held up."""
    dev = ("dev", "--quiet", "--listen", "127.0.0.1:0", "--data", str(folder / "dev"))
    with ExitStack() as stack:
        upstream = stack.enter_context(started(*dev))
        late = stack.enter_context(Proxy(upstream.socket_url))
        addresses = {name: stack.enter_context(kept_address()) for name in NAMES}
        upstreams = dict.fromkeys(NAMES, upstream.socket_url) | {"three": late.url}
        nodes = Nodes(folder, folder / "dev/eth/genesis.json", upstreams, addresses)
        stack.callback(nodes.close)
        for name in NAMES:
            nodes.start(name)
        for name in NAMES:
            until("ready", lambda name=name: nodes.is_ready(name))  # type: ignore[misc]
        yield nodes, Chain(upstream.http_url), late


class Weather(threading.Thread):
    """Blocks and reorganisations all the time, of which one node hears late."""

    def __init__(self, chain: Chain, late: Proxy) -> None:
        super().__init__(daemon=True)
        self._chain = chain
        self._late = late
        self._random = random.Random(7)
        self._is_over = threading.Event()
        self._first = chain.height
        self.reorganisations = 0
        self.failures: list[str] = []

    def run(self) -> None:
        try:
            while not self._is_over.is_set():
                self._step()
                time.sleep(self._random.uniform(0.02, 0.15))
        except Exception as error:
            self.failures.append(repr(error))
        finally:
            self._late.go_on()

    @property
    def has_stormed(self) -> bool:
        """Return whether there were several reorganisations, and many blocks."""
        return self.reorganisations > 3 and self._chain.height - self._first > 100

    def end(self) -> None:
        self._is_over.set()
        self.join()

    def _step(self) -> None:
        if self._random.random() < 0.2:
            self._late.pause()
        elif self._random.random() < 0.5:
            self._late.go_on()
        depth = self._random.randrange(1, 4)
        if self._random.random() < 0.08 and self._chain.height - self._first > depth:
            self._chain.reorganise(depth)
            self.reorganisations += 1
        else:
            self._chain.emit()


@needs_haproxy
@pytest.mark.slow
def test_clients_that_move_between_nodes_have_each_log_once_and_see_nothing_older(tmp_path: Path) -> None:
    with three_nodes(tmp_path) as (nodes, chain, late), balancing(tmp_path, nodes.addresses) as address:
        weather = Weather(chain, late)
        wanderers = [Wanderer(address, chain.emitter, seed) for seed in range(CLIENTS)]
        for each in (weather, *wanderers):
            each.start()
        time_passes(wanderers, visits=2)
        for name in NAMES:
            # A kill, and while clients come back to it a restart as in an upgrade.
            assert nodes.stop(name, signal.SIGKILL) == -signal.SIGKILL
            time_passes(wanderers, visits=1)
            nodes.start(name)
            until("it is ready again", lambda name=name: nodes.is_ready(name))  # type: ignore[misc]
            time_passes(wanderers, visits=1)
        for name in NAMES:
            assert nodes.stop(name, signal.SIGTERM) == 0
            nodes.start(name)
            until("it is ready again", lambda name=name: nodes.is_ready(name))  # type: ignore[misc]
            time_passes(wanderers, visits=1)
        # On a busy machine all this may take few blocks.
        until("enough has happened", lambda: weather.failures or weather.has_stormed or broken(wanderers))
        until("logs were removed", lambda: removed(wanderers) > CLIENTS or broken(wanderers))
        weather.end()
        assert weather.failures == []
        canonical = chain.logs()
        until("all have all logs", lambda: broken(wanderers) or have_all(wanderers, canonical))
        for each in wanderers:
            each.end()
        assert broken(wanderers) == []
        assert len(canonical) > 100
        assert removed(wanderers) > CLIENTS


def time_passes(wanderers: list[Wanderer], visits: int) -> None:
    """Return once each client has connected `visits` more times."""
    before = [each.visits for each in wanderers]

    def have_moved() -> bool:
        moved = zip(wanderers, before, strict=True)
        return all(each.visits >= count + visits for each, count in moved) or bool(broken(wanderers))

    until("all have moved on", have_moved)


def have_all(wanderers: list[Wanderer], logs: list[Place]) -> bool:
    return all(each.logs == logs for each in wanderers)


def removed(wanderers: list[Wanderer]) -> int:
    """Return how many logs all were told to be gone."""
    return sum(each.removals for each in wanderers)


def broken(wanderers: list[Wanderer]) -> list[str]:
    return [promise for each in wanderers for promise in each.broken]
