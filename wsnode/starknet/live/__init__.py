"""What subscribers are told of an alt chain: new blocks, and that blocks were replaced, out of the store."""
