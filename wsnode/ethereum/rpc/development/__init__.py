"""Methods that only a development or test node has: evm_, anvil_, hardhat_ …"""
