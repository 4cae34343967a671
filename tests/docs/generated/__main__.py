"""Write all generated tables of the pages."""

from tests.docs.generated.writers import WRITERS

for writer in WRITERS:
    writer.write()
