"""Methods about logs: queries, pages, polled filters, subscriptions."""
