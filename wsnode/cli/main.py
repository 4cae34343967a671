"""Command line: `wsnode demo`, `dev`, `import`, `serve`, `follow`, `config`, `keys`, `verify` ….

A command's module is imported when the command is run or listed, and imports chain and server when the
command runs. `--help` and wrong usage need neither of them; no command loads the module of another.
"""

from typing import Final

import click

from wsnode.cli.options import Commands
from wsnode.cli.serving import begin_node

COMMANDS: Final = {
    "Chains to try and to develop on": {
        "demo": "development:demo",
        "dev": "development:dev",
        "anvil": "anvil.command:anvil",
    },
    "Nodes": {
        "import": "imports:app",
        "serve": "serve:serve",
        "follow": "follow:follow",
        "replica": "follow:replica",
        "chains": "follow:chains",
    },
    "Operation": {
        "config": "operation:config",
        "keys": "operation:keys",
        "outage": "operation:outage",
        "status": "status.command:status",
    },
    "Data folders": {
        "doctor": "data_folders:doctor",
        "snapshot": "data_folders:snapshot",
        "restore": "data_folders:restore",
    },
    "Checks and load on any node": {"verify": "verify:verify", "bench": "bench.group:bench"},
}
"""Import path below `wsnode.cli` of each command, by heading and name."""


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    "-V",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=lambda context, _option, asked: show_version(context) if asked else None,
    help="Show the version and exit.",
)
def app() -> None:
    """Run a WebSocket-first JSON-RPC node. Begin with `wsnode demo`, or test against `wsnode dev`."""


def main() -> None:
    """Run the command line."""
    begin_node()
    app(prog_name="wsnode")


def show_version(context: click.Context) -> None:
    """Print the program's version and end."""
    from wsnode.release import release

    print(f"wsnode {release()}")
    context.exit()


for heading, commands in COMMANDS.items():
    for name, path in commands.items():
        app.add_import_path(name, f"wsnode.cli.{path}")
        app.headings[name] = heading
