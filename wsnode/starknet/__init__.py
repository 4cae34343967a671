"""The methods, storage and events of Starknet chains."""
