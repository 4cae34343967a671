"""Hub of a Starknet chain: publishes new blocks of the store to the subscriptions."""

import logging
from collections.abc import Callable, Iterator, Sequence

from wsnode.pubsub.fan_out import FanOut, Group
from wsnode.pubsub.store_watch import StoreWatch
from wsnode.pubsub.subscription import Event
from wsnode.starknet.chain import StarknetChain
from wsnode.starknet.felt import felt_text
from wsnode.starknet.live.contents import (
    BlockContents,
    BodyUnavailableError,
    UnstoredFeed,
    UnstoredTransactions,
)
from wsnode.starknet.live.messages import (
    CLOSE_UNAVAILABLE,
    CLOSE_UNKNOWN,
    Message,
    NotificationForm,
    reorganisation,
    unavailable_notice,
    uncursored,
    unknown_block_notice,
)
from wsnode.starknet.live.pages import STEP_TRANSACTIONS, blocks_behind, parts_of, unstored_parts
from wsnode.starknet.live.position import (
    StarknetPosition,
    UnknownStarknetBlockError,
    dropped_from,
    head_position,
)
from wsnode.starknet.live.streams import StatusStream
from wsnode.starknet.snapshot import StarknetSnapshot

logger = logging.getLogger("wsnode.live")


class StarknetHub:
    """Publisher of blocks and reorganisations from the store to the subscriptions of one Starknet chain."""

    def __init__(self, chain: StarknetChain, fan_out: FanOut | None = None) -> None:
        """Publish from `chain`; `fan_out` may be shared with the network's other chain."""
        self._chain = chain
        self.fan_out = fan_out or FanOut()
        """Delivery of events to the subscribers; its owner runs it."""
        self._groups: dict[NotificationForm, Group] = {}
        self.parameters = 0
        """Number of addresses, keys and hashes in the parameters of all subscriptions together."""
        with chain.snapshot() as view:
            self.head = head_position(view)
        """Position of the last published head."""
        self._unstored = UnstoredFeed()
        self._l1_accepted = -1
        """Number of the last block whose acceptance on L1 was published, -1 if none was."""
        self._watch = StoreWatch(self.fan_out, chain.written_elsewhere)

    def snapshot(self) -> StarknetSnapshot:
        return self._chain.snapshot()

    def group(self, form: NotificationForm) -> Group:
        """Return the group of subscriptions with this form, a new one if there is none.

        The caller must join it before it awaits anything, because an empty group is dropped.
        """
        if (group := self._groups.get(form)) is None:
            group = self._groups[form] = Group(self.fan_out, lambda: self._drop(form))
        return group

    def _drop(self, form: NotificationForm) -> None:
        del self._groups[form]

    def advance(self) -> None:
        """Publish the changes of the chain since the last call, and new transactions outside stored blocks.

        One call reads about `STEP_TRANSACTIONS` transactions; `watch` publishes the rest.
        """
        with self._chain.snapshot() as view:
            if (head := head_position(view)) != self.head:
                self._follow(view, head)
            if self.head == head:
                self._tell_unstored(view)
                self._tell_accepted(view)
        self._watch.take_note(is_behind=self.head != head)

    def _follow(self, view: StarknetSnapshot, head: StarknetPosition) -> None:
        before = self.head
        try:
            dropped, ancestor = dropped_from(view, before)
        except UnknownStarknetBlockError as error:
            logger.error("block %s, which was published to subscribers, is no longer stored", before.number)  # noqa: TRY400
            self.head, lost = head, error.position
            self._own_up(lost, before)
            return
        if dropped:
            self._publish(lambda form: reorganisation(form, dropped, ancestor), before)
        self.head = ancestor
        read = 0
        for block in blocks_behind(view, ancestor, head.number):
            self._tell(block)
            read += block.transactions_read
            if read >= STEP_TRANSACTIONS:
                break

    def _own_up(self, lost: StarknetPosition, before: StarknetPosition) -> None:
        """Send subscriptions with notices the loss of a block, and close the connections of the others."""
        for form, group in list(self._groups.items()):
            if form.has_notices:
                group.publish(Event([unknown_block_notice(form, lost, self.head)]), before)
            else:
                group.close(CLOSE_UNKNOWN)

    def _tell(self, block: BlockContents) -> None:
        before, self.head = self.head, block.position
        for form, group in list(self._groups.items()):
            try:
                self._tell_group(form, group, block, before)
            except BodyUnavailableError:
                if form.has_notices:
                    group.publish(Event([unavailable_notice(form, block.position)]), before)
                else:
                    group.close(CLOSE_UNAVAILABLE)

    def _tell_group(
        self, form: NotificationForm, group: Group, block: BlockContents, before: StarknetPosition
    ) -> None:
        for messages, behind in parts_of(form, block, before):
            if messages:
                group.publish(Event(messages), before)
            before = behind

    def _tell_unstored(self, view: StarknetSnapshot) -> None:
        for found in self._unstored.take(view, self.head):
            for form, group in list(self._groups.items()):
                for messages in unstored_parts(form, found):
                    group.publish(Event(messages), self.head)

    def _tell_accepted(self, view: StarknetSnapshot) -> None:
        """Publish the status of watched transactions that L1 has accepted since the last call."""
        before, accepted = self._l1_accepted, view.l1_accepted
        if accepted is None or accepted <= before:
            return
        self._l1_accepted = accepted
        for form, group in list(self._groups.items()):
            stream = form.stream
            place = view.transaction(stream.transaction_hash) if isinstance(stream, StatusStream) else None
            if place is None or not before < place[0] <= accepted or (row := view.block(place[0])) is None:
                continue
            block = BlockContents(view, place[0], row)
            for _, result in stream.items(block, is_before_0_10=form.is_before_0_10):
                group.publish(Event([uncursored(form, result)]), self.head)

    def unstored(self, form: NotificationForm) -> Iterator[Sequence[Message]]:
        """Yield the notifications with which a subscription of this form begins at the head, in parts.

        They are of published transactions that no stored block has: those of the pre-confirmed block, and the
        status of a sent one.
        """
        if self._chain.followed is None:
            return
        with self._chain.snapshot() as view:
            found = self._unstored.published(view)
            parts = [] if found is None else list(unstored_parts(form, found))
            stream = form.stream
            if not parts and isinstance(stream, StatusStream) and view.followed is not None:
                sent = view.followed.sent.find(felt_text(stream.transaction_hash))
                is_stored = view.transaction(stream.transaction_hash) is not None
                if sent is not None and not is_stored:
                    parts = list(unstored_parts(form, UnstoredTransactions(sent, None, [0])))
        yield from parts

    def _publish(self, render: Callable[[NotificationForm], Message], before: StarknetPosition) -> None:
        for form, group in list(self._groups.items()):
            group.publish(Event([render(form)]), before)

    async def watch(self) -> None:
        """Publish blocks written by another process, and the blocks left over by `advance`, for ever."""
        await self._watch.run(self.advance)
