"""Where other people's data lies: named by the environment, beside the checkout, or in it."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parent.parent


def find_vectors(name: str) -> Path | None:
    """Return the folder or file `name` of the first root that has it."""
    return next((root / name for root in _roots() if (root / name).exists()), None)


def require_vectors(name: str) -> Path:
    """Return the folder or file `name`; the test is skipped where no root has it."""
    found = find_vectors(name)
    if found is None:
        pytest.skip(f"no vectors `{name}` under {', '.join(map(str, _roots()))}")
    return found


def _roots() -> list[Path]:
    return list(_candidates())


def _candidates() -> Iterator[Path]:
    if named := os.environ.get("WSNODE_VECTORS"):
        yield Path(named)
    yield CHECKOUT.parent / "shared"
    yield CHECKOUT / "tests" / "vectors"
