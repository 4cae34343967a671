"""The alt family, judged by real blocks and classes."""
