//! What transactions and calls do, step by step or call by call, in the shapes of geth's tracers.
