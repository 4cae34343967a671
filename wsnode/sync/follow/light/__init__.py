"""Light folder, which keeps a window of blocks: its first block, the checks of its blocks, and its lower
end.
"""
