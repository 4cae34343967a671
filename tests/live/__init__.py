"""Clients, nodes and random steps for tests of subscriptions of both families."""
