"""Code shared by methods: decoding, parameters, block lookup, results, limits of a call."""
