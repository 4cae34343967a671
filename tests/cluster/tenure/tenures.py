"""Tenures of writers whose chains are in a journal."""

from tests.cluster.memory_journal import MemoryJournal
from wsnode.cluster.leader_session import LeaderSession, PublishedChain


async def tenure_of(published: PublishedChain, journal: MemoryJournal) -> LeaderSession:
    """Return a new tenure in which all is in the journal."""
    tenure = await LeaderSession.begin(published, journal)
    await append_all(tenure)
    return tenure


async def append_all(tenure: LeaderSession) -> None:
    """Append steps until none is left."""
    while await tenure.append_steps() is None:
        pass


async def publish(published: PublishedChain, journal: MemoryJournal) -> None:
    """Publish all that a chain has, and leave the lease to others."""
    tenure = await tenure_of(published, journal)
    await journal.release(tenure.lease)
