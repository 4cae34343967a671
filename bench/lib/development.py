"""Nodes that mine at once: those that a script is given, or those that it starts itself."""

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bench.lib import started
from bench.lib.nodes import Node, allow_many_files, parser_of


def development_parser(description: str | None) -> argparse.ArgumentParser:
    """Return a parser of a script that takes nodes, or starts them with --dev."""
    parser = parser_of(description, nodes="*")
    parser.add_argument("--dev", action="store_true", help="start the nodes")
    parser.add_argument("--durable", action="store_true", help="start wsnode with a folder that it keeps")
    parser.add_argument("--geth", type=Path, metavar="PATH", help="of its program, to start it as well")
    parser.add_argument("--anvil", type=Path, metavar="PATH", help="of its program, to start it as well")
    return parser


@contextmanager
def development_nodes(
    parser: argparse.ArgumentParser, options: argparse.Namespace
) -> Iterator[Sequence[Node]]:
    """Yield the nodes that the options name or have started, and stop the latter in the end."""
    if bool(options.nodes) == options.dev:
        parser.error("give nodes, or --dev to start them")
    allow_many_files()
    if options.nodes:
        yield options.nodes
    else:
        with started_nodes(options.geth, options.anvil, durable=options.durable) as nodes:
            yield nodes


@contextmanager
def started_nodes(
    geth: Path | None, anvil: Path | None, *, durable: bool = False
) -> Iterator[Sequence[Node]]:
    """Run wsnode, which keeps what it says from power failures if it is `durable`, and the others given."""
    with tempfile.TemporaryDirectory(prefix="development-") as temporary, ExitStack() as stack:
        folder = Path(temporary)
        nodes = [stack.enter_context(started.wsnode_that_mines(folder, durable=durable))]
        if geth:
            nodes.append(stack.enter_context(started.geth_that_mines(geth, folder)))
        if anvil:
            nodes.append(stack.enter_context(started.anvil(anvil, folder, mines=True)))
        yield nodes
