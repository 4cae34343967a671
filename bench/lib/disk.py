"""What a disk takes to keep a page: the limit of all that is durable."""

import os
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Final

PAGE: Final = 4096
SYNCS: Final = 200


def sync_milliseconds(folder: Path | None = None) -> float:
    """Return the median milliseconds of one fdatasync of a page, on the disk of a folder or of /tmp."""
    times = []
    with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
        for place in range(SYNCS):
            os.pwrite(file.fileno(), bytes([place % 256]) * PAGE, 0)
            began = time.perf_counter()
            os.fdatasync(file.fileno())
            times.append(1e3 * (time.perf_counter() - began))
    return median(times)
