"""Delivery of events to many subscribers: each gets all events in order, or a notice of those that it
missed.
"""
