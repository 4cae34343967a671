"""Subscription of a client: live in a group, or catching up from a position."""

import trio

from wsnode.pubsub.subscription import Event, EventChannel, Subscription
from wsnode.starknet.live.contents import BodyUnavailableError
from wsnode.starknet.live.hub import StarknetHub
from wsnode.starknet.live.messages import (
    CLOSE_UNAVAILABLE,
    CLOSE_UNKNOWN,
    NotificationForm,
    fallen_behind_notice,
    restart_notice,
    unavailable_notice,
    unknown_block_notice,
)
from wsnode.starknet.live.pages import page_behind
from wsnode.starknet.live.position import StarknetPosition, UnknownStarknetBlockError


class BlockSubscription(Subscription):
    """Subscription to the items of a stream in each block; missed blocks are read from the store."""

    def __init__(
        self,
        channel: EventChannel,
        hub: StarknetHub,
        form: NotificationForm,
        position: StarknetPosition | None,
    ) -> None:
        """Subscribe from `position` on or, without one, from the present head on."""
        super().__init__(form.stream.kind, channel)
        self._hub = hub
        self._form = form
        self._position = position
        self._shown: StarknetPosition | None = None
        """Head on which the subscription has received the transactions outside stored blocks."""

    @property
    def weight(self) -> int:
        return self._form.stream.weight

    def begin(self) -> None:
        self._hub.advance()
        if self._position is None:
            self._go_live()
        else:
            self._catch_up_from(self._position)

    def fall_behind(self, position: StarknetPosition, missed: int) -> None:
        """Send a notice if the form has notices, and continue from `position` once the client has read."""
        self._shown = self._hub.head
        if self._form.has_notices:
            self.deliver(Event([fallen_behind_notice(self._form, position, missed)]))
        # The client may have fallen behind at the head too, by transactions outside stored blocks. So the
        # subscription catches up once the client has read, and does not go live immediately.
        self._position = position
        self.channel.catch_up(self)

    def end(self) -> None:
        if not self.ended:
            self._hub.parameters -= self.weight
        super().end()

    def final_notice(self) -> Event | None:
        """Return the notice of a restart, with the cursor to continue from; None without notices."""
        if not self._form.has_notices:
            return None
        return Event([restart_notice(self._form, self._position or self._hub.head)])

    def _go_live(self) -> None:
        self._position = None
        if self._shown != self._hub.head:
            self._show_unstored()
        self._hub.group(self._form).join(self)

    def _show_unstored(self) -> None:
        """Send the published transactions outside stored blocks, as far as the client has room."""
        self._shown = self._hub.head
        for messages in self._hub.unstored(self._form):
            if self.channel.is_full:
                return
            self.deliver(Event(messages))

    def _catch_up_from(self, position: StarknetPosition) -> None:
        self._position = position
        if position == self._hub.head:
            self._go_live()
        else:
            self.channel.catch_up(self)

    async def take_step(self) -> bool:
        """Send the next page of missed blocks; return False once the subscription is live or has ended."""
        await trio.lowlevel.checkpoint()
        if not self.ended and self._position != self._hub.head:
            self._take_page()
        if self.ended or self._position != self._hub.head:
            return not self.ended
        self._go_live()
        return False

    def _take_page(self) -> None:
        position = self._position
        assert position is not None
        try:
            with self._hub.snapshot() as view:
                page = page_behind(view, self._form, position, self._hub.head.number)
        except UnknownStarknetBlockError as error:
            if not self._form.has_notices:
                self.channel.close(*CLOSE_UNKNOWN)
                return
            self._position = self._hub.head
            self.deliver(Event([unknown_block_notice(self._form, error.position, self._position)]))
            return
        except BodyUnavailableError as error:
            self._pass_over(error.position)
            return
        self._position = page.position
        if page.messages:
            self.deliver(Event(page.messages))
        elif page.position == position:
            # The page is empty because the hub is behind the store, or has last published a branch that has
            # left the chain.
            self._hub.advance()

    def _pass_over(self, position: StarknetPosition) -> None:
        """Continue after a block that is stored without its transactions; close the connection if the form
        has no notices.
        """
        if not self._form.has_notices:
            self.channel.close(*CLOSE_UNAVAILABLE)
            return
        self._position = position
        self.deliver(Event([unavailable_notice(self._form, position)]))
