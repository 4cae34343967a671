"""`wsnode bench`: a mix of calls unless another kind of load is named."""

from typing import Final

import click

from wsnode.cli.bench.lag import lag
from wsnode.cli.bench.mix import mix
from wsnode.cli.bench.replay import replay
from wsnode.cli.bench.storm import storm
from wsnode.cli.options import Commands

USUAL: Final = "mix"


class DefaultCommandGroup(Commands):
    """Group of the kinds of benchmark, as click commands; if the command line names no kind, the default one
    runs.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert the default kind where none is named."""
        is_named = bool(args) and args[0] in (*self.commands, *ctx.help_option_names)
        return super().parse_args(ctx, args if is_named else [USUAL, *args])

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_usage(ctx.command_path, "[OPTIONS] URL")
        formatter.write_usage(ctx.command_path, "KIND [OPTIONS] URL …", prefix="       ")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.commands[USUAL].format_options(ctx, formatter)
        self.format_commands(ctx, formatter)


@click.group(cls=DefaultCommandGroup, subcommand_metavar="KIND")
def bench() -> None:
    """Put load on any node over WebSocket, and measure its answers.

    A mix of calls unless another kind is named: rates and latencies, heavy calls beside cheap ones, and a
    slow client. URL is ws://, or the http:// beside it. `wsnode bench KIND --help` lists a kind's options.
    """


for kind in (mix, lag, storm, replay):
    bench.add_command(kind)
