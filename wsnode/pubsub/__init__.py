"""Hand one event to many subscribers: each gets all of it in order, or is told what it missed."""
