// SPDX-License-Identifier: MIT
// Tokens that keep balances and allowances in different ways. `tokens.json` is their code, by name:
// solc 0.8.37, optimizer 200 runs, evmVersion paris, no metadata.
pragma solidity ^0.8.30;

/// Reads other slots first, and its mappings are not where the demo's token has them.
contract Guarded {
    address owner;
    bool paused;
    uint256[5] gap;
    mapping(address => uint256) balances;
    mapping(address => mapping(address => uint256)) allowances;

    function balanceOf(address account) external view returns (uint256) {
        require(!paused && owner == address(0), "paused");
        return balances[account];
    }

    function allowance(address account, address spender) external view returns (uint256) {
        require(!paused, "paused");
        return allowances[account][spender];
    }
}

/// In a namespace of its own (ERC-7201), as OpenZeppelin's upgradeable tokens.
contract Namespaced {
    struct Ledger {
        mapping(address => uint256) balances;
        mapping(address => mapping(address => uint256)) allowances;
    }

    function ledger() private pure returns (Ledger storage found) {
        assembly {
            found.slot := 0x52c63247e1f47db19d5ce0460030c497f067ca4cebf71ba98eeadabe20bace00
        }
    }

    function balanceOf(address account) external view returns (uint256) {
        return ledger().balances[account];
    }

    function allowance(address account, address spender) external view returns (uint256) {
        return ledger().allowances[account][spender];
    }
}

/// The mapping's slot is hashed before the key, as Vyper does it.
contract Reversed {
    function inner(bytes32 slot, address key) private pure returns (bytes32) {
        return keccak256(abi.encode(slot, key));
    }

    function read(bytes32 slot) private view returns (uint256 value) {
        assembly {
            value := sload(slot)
        }
    }

    function balanceOf(address account) external view returns (uint256) {
        return read(inner(bytes32(uint256(3)), account));
    }

    function allowance(address account, address spender) external view returns (uint256) {
        return read(inner(inner(bytes32(uint256(4)), account), spender));
    }
}

/// A balance of 128 bits beside another number.
contract Packed {
    struct Holding {
        uint128 amount;
        uint128 since;
    }

    mapping(address => Holding) holdings;
    mapping(address => mapping(address => uint128)) allowances;

    function balanceOf(address account) external view returns (uint256) {
        return holdings[account].amount;
    }

    function allowance(address account, address spender) external view returns (uint256) {
        return allowances[account][spender];
    }
}

/// Asks another contract, whose address is in slot 0.
contract Elsewhere {
    Guarded store;

    function balanceOf(address account) external view returns (uint256) {
        return store.balanceOf(account);
    }

    function allowance(address account, address spender) external view returns (uint256) {
        return store.allowance(account, spender);
    }
}

/// A balance that no slot holds: a share of what there is.
contract Rebasing {
    uint256 total;
    mapping(address => uint256) shares;

    function balanceOf(address account) external view returns (uint256) {
        return (shares[account] * (total + 3)) / 7;
    }

    function allowance(address, address) external pure returns (uint256) {
        return type(uint256).max;
    }
}
