"""The program's version."""

from functools import cache


@cache
def release() -> str:
    """Return the program's version, `0.0.0` where it is not installed."""
    # Reading packages' metadata takes longer than most of what a node does when it starts.
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("wsnode")
    except PackageNotFoundError:
        return "0.0.0"
