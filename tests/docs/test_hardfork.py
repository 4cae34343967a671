"""What HARDFORK.md says of how far the names of forks are spread."""

import re
from collections.abc import Iterator
from pathlib import Path

from tests.vector_files import CHECKOUT

NETWORKS = CHECKOUT / "wsnode/ethereum/networks"
PAGE = (CHECKOUT / "HARDFORK.md").read_text()
NAMED = re.compile(r"\b(shanghai|cancun|prague|osaka|amsterdam)\b", re.IGNORECASE)


def naming_forks(ending: str) -> Iterator[Path]:
    """Yield the sources of the package that name a fork since Shanghai, besides the rows of chains."""
    for path in (CHECKOUT / "wsnode").rglob(f"*.{ending}"):
        if path.parent != NETWORKS and NAMED.search(path.read_text()):
            yield path


def test_no_more_files_name_forks_than_the_page_says() -> None:
    said = re.search(r"(\d+) Python and (\d+) Rust files name a fork", " ".join(PAGE.split()))
    assert said is not None
    for ending, most in zip(("py", "rs"), map(int, said.groups()), strict=True):
        assert len(list(naming_forks(ending))) <= most
