"""What methods share: decoding, parameters, block lookup, results, limits of a call."""
