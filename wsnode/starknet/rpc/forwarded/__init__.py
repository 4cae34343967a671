"""Methods that an upstream answers: calls, estimates, simulations, traces, and sent transactions."""
