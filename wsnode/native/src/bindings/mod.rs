//! The Python module: arguments in, results out, nothing else.
