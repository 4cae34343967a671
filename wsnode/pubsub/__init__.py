"""Delivery of events to many subscribers: each gets all events in order, or is told which it missed."""
