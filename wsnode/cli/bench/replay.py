"""`wsnode bench replay`: recorded requests."""

from pathlib import Path

import click

from wsnode.cli.bench.running import (
    SectionCommand,
    connections_option,
    depth_option,
    http_option,
    option,
    results_options,
    run_kind,
    urls_of,
)
from wsnode.cli.options import FiniteRange

LOAD, PACE = "Load", "Pace"


@click.command(cls=SectionCommand)
@click.argument("url", metavar="URL")
@click.argument("file", metavar="FILE", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@connections_option(LOAD, 16)
@depth_option(LOAD, "Requests in flight on each, where neither times nor --rate say when they are sent.")
@http_option(LOAD, "Over HTTP, a request at a time on a connection.")
@option(
    LOAD, "--seconds", type=FiniteRange(min=0.1), metavar="S", help="Send no more requests after this time."
)
@option(
    PACE,
    "--speed",
    type=FiniteRange(min=0.001),
    default=1.0,
    show_default=True,
    metavar="X",
    help="Factor by which requests are sent faster than the file's times.",
)
@option(PACE, "--rate", type=FiniteRange(min=0.1), metavar="N", help="Requests a second, whatever the times.")
@option(
    PACE, "--untimed", is_flag=True, help="Ignore the file's times: --depth in flight on each connection."
)
@results_options
def replay(
    *,
    url: str,
    file: Path,
    against: str | None,
    connections: int,
    depth: int,
    over_http: bool,
    seconds: float | None,
    speed: float,
    rate: float | None,
    untimed: bool,
    as_json: bool,
    page_file: Path | None,
) -> None:
    """Send the requests of FILE, one JSON-RPC request a line.

    A line may have a member `time`, in seconds or as RFC 3339: then requests keep their distances in time,
    and latency counts from when each was due. Lines that are no requests are left out and named.
    """
    from wsnode.load.replay.measure import ReplayPlan, measure_replay
    from wsnode.load.report import replay as report

    if untimed and (rate is not None or speed != 1):
        raise click.UsageError("--untimed goes with neither --rate nor --speed")
    urls = urls_of(url, against, over_http=over_http)
    plan = ReplayPlan(
        file, connections, 1 if over_http else depth, rate, speed, keeps_time=not untimed, seconds=seconds
    )
    run_kind(
        urls, plan, measure_replay, report, connections=connections, as_json=as_json, page_file=page_file
    )
