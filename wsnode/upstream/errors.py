"""Why another node gave no answer."""


class PartnerError(Exception):
    """The partner gave no answer that can be used; `reason` is one word."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
