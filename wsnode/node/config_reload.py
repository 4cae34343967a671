"""Reload of a running node's configuration."""

import logging
from collections.abc import Callable

from wsnode.node.config import Config, ConfigurationError
from wsnode.server.observability.supervisor import log_failure

logger = logging.getLogger("wsnode.node")


def read_again(
    reread: Callable[[], Config], take: Callable[[Config], None] = lambda _config: None
) -> Config | None:
    """Return the configuration that `reread` returns, after `take` has applied its part of it.

    None if it cannot be read, or `take` fails; the log says why.
    """
    try:
        config = reread()
        take(config)
    except (ConfigurationError, OSError) as error:
        logger.error("the configuration stays as it was: %s", error)  # noqa: TRY400 - no bug of ours
    except Exception as error:
        log_failure("the configuration stays as it was", error)
    else:
        return config
    return None
