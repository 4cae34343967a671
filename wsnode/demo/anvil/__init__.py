"""Output and files of `wsnode anvil` in anvil's formats."""
