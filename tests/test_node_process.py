"""Which commands of tests get workers."""

from tests.node_process import with_workers


def test_only_commands_that_serve_a_folder_get_workers() -> None:
    assert with_workers(("serve", "--data", "x"), "2") == ["serve", "--data", "x", "--workers", "2"]
    for each in ("follow", "replica"):
        assert with_workers((each,), "2") == [each, "--workers", "2"]
    for others in (
        ("dev",),
        ("follow", "--light"),
        ("serve", "--workers", "3"),
        ("serve", "--engine", "x"),
        ("serve", "--config", "y"),
    ):
        assert with_workers(others, "2") == others
    assert with_workers(("serve",), None) == ("serve",)
