"""Engine of wsnode: submodules `evm`, `chain`, `store`, `wire`, `starknet`, `beacon` and `scoreboard`.

Rules for all of them:

- An int outside the range that its function takes is an OverflowError; bytes of another length than an
  address (20) or a hash (32) has are a ValueError.
- Block numbers, seconds and gas are below 2**64; amounts of wei and difficulties below 2**256.
- Any thread may call anything, unless a docstring says otherwise. A function keeps the interpreter's lock
  while it runs, and so belongs where a millisecond does no harm, unless its docstring says that it releases
  the lock.
- Objects never change, unless their docstrings say so.
- A bug of the engine is an `EngineError` whose text begins with "the engine panicked".
"""
