"""Command `wsnode status`: the status of a running node."""
