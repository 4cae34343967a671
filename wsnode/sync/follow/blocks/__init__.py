"""Fetch of blocks from upstreams, by hash or by number, one or a range, from one upstream or the first to
answer.
"""
