"""Records the replies of this version anew."""

from pathlib import Path
from tempfile import TemporaryDirectory

import trio

from tests.scenarios.replies.generator import CONVERSATIONS, Generator
from tests.scenarios.replies.playing import played
from tests.scenarios.replies.recording import RECORDED, write_recording

if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        replies = trio.run(played, Path(folder), Generator().conversations(CONVERSATIONS))
    write_recording(replies)
    print(f"{RECORDED.name}: {RECORDED.stat().st_size:,} bytes")
