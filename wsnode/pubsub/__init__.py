"""Delivery of one event to many subscribers: each gets all events in order, or learns which it missed."""
