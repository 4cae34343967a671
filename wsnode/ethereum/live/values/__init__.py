"""Values of the state that subscribers watch: read once, and sent again when they change."""
