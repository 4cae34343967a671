"""Options that commands share, the form of their help, and the settings from options."""

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from wsnode.node.listen_address import DEFAULT_LISTEN, MAX_PORT, ListenAddress, ListenError

if TYPE_CHECKING:
    from wsnode.verify.addresses import Addresses

LOG_LEVELS = ("debug", "info", "warning", "error")
FILE = click.Path(path_type=Path)
"""Path that need not exist, since its reader reports errors."""

WHOLE_SENTENCE = 1000
"""Characters of the list of commands for a first sentence, more than any command has."""

Command = TypeVar("Command", bound=Callable[..., Any])


class Commands(click.Group):
    """Group of commands in the order in which they were added, under headings if they have some.

    A command with an import path is imported when it is run or listed.
    """

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.headings: dict[str, str] = {}
        """Headings of commands, by the commands' names."""
        self._import_paths: dict[str, str] = {}

    def add_import_path(self, name: str, path: str) -> None:
        """Add a command by `MODULE:NAME`."""
        self._import_paths[name] = path

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(dict.fromkeys((*self._import_paths, *self.commands)))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.commands and cmd_name in self._import_paths:
            module, _, name = self._import_paths[cmd_name].partition(":")
            self.add_command(getattr(import_module(module), name), cmd_name)
        return super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        shown = [(name, command) for name, command in commands if command and not command.hidden]
        width = max(len(name) for name, _command in shown)
        for name, command in shown:
            rows = sections.setdefault(self.headings.get(name, "Commands"), [])
            # Names are padded to one width, so that the descriptions of all sections begin in the same
            # column.
            rows.append((name.ljust(width), command.get_short_help_str(WHOLE_SENTENCE)))
        for heading, rows in sections.items():
            with formatter.section(heading):
                formatter.write_dl(rows)


class Url(click.ParamType[str], ABC):
    """Type of an option's value: a URL of the kind that a subclass checks. An error does not repeat an
    invalid URL, since it may contain a key or a password.
    """

    name = "URL"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the URL unchanged.

        Raises:
            click.BadParameter: The URL is not of the kind.
        """
        try:
            self.check(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)
        return value

    @abstractmethod
    def check(self, value: str) -> None:
        """Check that a URL is of the kind.

        Raises:
            ValueError: The URL is of another kind; the text shows no secret part of it.
        """


class NodeUrl(Url):
    """Type of an option's value: the URL of another node."""

    def check(self, value: str) -> None:
        from wsnode.upstream.address import UpstreamAddress

        UpstreamAddress.parse(value)


class JournalUrl(Url):
    """Type of an option's value: the URL of a journal, the log of a chain's changes in Redis."""

    def check(self, value: str) -> None:
        from wsnode.cluster.address import JournalAddress

        JournalAddress.parse(value)


class ChainName(click.ParamType[str]):
    """Type of an option's value: the name of a public chain in wsnode's table of networks, or of a Starknet
    chain.
    """

    name = "name"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the chain's name in the table of networks, or that of a Starknet chain with its id in text.

        Raises:
            click.BadParameter: No chain has the name.
        """
        from wsnode.ethereum.networks.table import find_network
        from wsnode.sync.starknet.settings import is_starknet, starknet_chain

        try:
            return starknet_chain(value) if is_starknet(value) else find_network(value).name
        except ValueError as error:
            self.fail(str(error), param, ctx)


class StarknetChainId(click.ParamType[str]):
    """Type of an option's value: the id of a Starknet chain, as text or in hex."""

    name = "name"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the id in text.

        Raises:
            click.BadParameter: The text is no chain id.
        """
        from wsnode.starknet.felt import chain_id_text

        try:
            return chain_id_text(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class WindowLength(click.ParamType[int | str]):
    """Type of an option's value: the number of recent blocks to keep, or their age, such as `2h`."""

    name = "blocks"

    def convert(
        self, value: str | int, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | str:
        """Return the number of blocks, or the time unchanged.

        Raises:
            click.BadParameter: The text is neither.
        """
        from wsnode.node.config import WINDOW_BLOCKS, WINDOW_TIME

        text = str(value)
        if re.fullmatch(WINDOW_TIME, text):
            return text
        if not re.fullmatch(WINDOW_BLOCKS, text):
            self.fail(
                f"{text:.40} is neither a number of blocks nor a time such as 90m, 2h or 1d", param, ctx
            )
        return int(text)


class FiniteRange(click.FloatRange):
    """Type of numbers within a range, without `nan` and `inf`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number.

        Raises:
            click.BadParameter: The text is no finite number, or is outside the range.
        """
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value} is no finite number.", param, ctx)
        return number


def address_options(command: Command) -> Command:
    """Add `listen`, `host` and `port`; `fit_address` reads them."""
    for option in (
        click.option(
            "--port",
            "-p",
            type=click.IntRange(0, MAX_PORT),
            metavar="PORT",
            help="The port of --listen by itself; 0 takes a free one.",
        ),
        click.option("--host", metavar="HOST", help="The host of --listen by itself."),
        click.option(
            "--listen",
            metavar="HOST:PORT",
            help="The address to accept connections on, or a port of this machine; "
            f"{DEFAULT_LISTEN} if not given.",
        ),
    ):
        command = option(command)
    return command


def guest_options(command: Command) -> Command:
    """Add `origin` and `vhost`: web pages and host names with access besides this machine's own."""
    for option in (
        click.option(
            "--vhost",
            multiple=True,
            metavar="NAME",
            help="A host name to be called by besides localhost, once or more; * for any.",
        ),
        click.option(
            "--origin",
            multiple=True,
            metavar="URL",
            help="A web page that may connect besides local ones, once or more; * for all.",
        ),
    ):
        command = option(command)
    return command


def limit_option(command: Command) -> Command:
    """Add `limit`: valid values of limits by their names."""
    return click.option(
        "--limit",
        multiple=True,
        callback=_numbers_by_name,
        metavar="NAME=VALUE",
        help="A bound by its name in [limits] of a wsnode.toml, such as body_bytes=64000000, once or more.",
    )(command)


def _numbers_by_name(
    _context: click.Context, _option: click.Parameter, given: tuple[str, ...]
) -> dict[str, float]:
    numbers: dict[str, float] = {}
    for text in given:
        name, separator, value = text.partition("=")
        if not separator:
            raise click.BadParameter(f"{text!r} is not NAME=VALUE")
        numbers[name] = _number(name, value)
    if numbers:
        _check_limits(numbers)
    return numbers


def _check_limits(numbers: Mapping[str, float]) -> None:
    from wsnode.node.config import ConfigurationError
    from wsnode.node.config_file import AllLimits

    try:
        AllLimits.of_table(numbers)
    except ConfigurationError as error:
        raise click.BadParameter(str(error)) from None


def _number(name: str, value: str) -> float:
    for kind in (int, float):
        with suppress(ValueError):
            return kind(value)
    raise click.BadParameter(f"{name}: {value!r} is no number")


def log_level_option(command: Command) -> Command:
    """Add `log_level`."""
    return click.option(
        "--log-level",
        type=click.Choice(LOG_LEVELS),
        help="What to log on standard error; info if not given.",
    )(command)


def one_process_option(command: Command) -> Command:
    """Add `--workers`, hidden, to a command that writes its chain, to explain why it is refused."""
    return click.option("--workers", hidden=True, expose_value=False, callback=_refuse_workers)(command)


def _refuse_workers(_context: click.Context, _option: click.Parameter, given: str | None) -> None:
    if given is not None:
        raise click.UsageError(
            "--workers: the process that writes a chain is one; "
            "`wsnode serve --data DIR --workers N` serves its folder beside it"
        )


def journal_option(command: Command) -> Command:
    """Add `journal`, the URL of the journal to which a command publishes its chain."""
    return click.option(
        "--journal",
        type=JournalUrl(),
        metavar="URL",
        help="Publish each block to this Redis, for `wsnode replica` elsewhere: redis://, rediss://, "
        "redis+sentinel://, redis+cluster:// or unix://.",
    )(command)


def data_option(command: Command) -> Command:
    """Add `data`, the folder that a command works on."""
    return click.option("--data", type=FILE, metavar="DIR", required=True, help="The folder of one network.")(
        command
    )


def genesis_option(command: Command) -> Command:
    """Add `genesis`, the file of a new chain's genesis."""
    return click.option(
        "--genesis", type=FILE, metavar="FILE", help="The genesis of a new chain, in geth's format."
    )(command)


def fit_address(listen: str | None, host: str | None, port: int | None, otherwise: str) -> ListenAddress:
    """Return the address of the options; omitted parts are those of `otherwise`.

    Raises:
        click.UsageError: The options name two addresses.
        click.BadParameter: The options name no valid address.
        ListenError: `otherwise` is no address.
    """
    if listen is None:
        usual = ListenAddress.parse(otherwise)
        return ListenAddress(
            usual.host if host is None else _host(host), usual.port if port is None else port
        )
    if host is not None or port is not None:
        raise click.UsageError("give either --listen or --host and --port")
    try:
        return ListenAddress.parse(listen)
    except ListenError as error:
        raise click.BadParameter(str(error), param_hint="--listen") from None


def checked_addresses(url: str, http: str | None = None, websocket: str | None = None) -> "Addresses":
    """Return a node's two addresses, or end as wrong usage if one is invalid."""
    from wsnode.upstream.errors import AddressError
    from wsnode.verify.addresses import addresses_of

    try:
        return addresses_of(url, http=http, websocket=websocket)
    except AddressError as error:
        raise click.UsageError(str(error)) from error


def _host(text: str) -> str:
    host = text.removeprefix("[").removesuffix("]")
    if not host or host.count(":") == 1:
        raise click.BadParameter(f"{text!r} is no host, such as 127.0.0.1", param_hint="--host")
    return host
