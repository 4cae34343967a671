// SPDX-License-Identifier: MIT
// What the matchers are tried on. `Probe.json` is its artifact: solc 0.8.37, optimizer 200 runs, evmVersion paris, no metadata.
pragma solidity ^0.8.30;

contract Probe {
    error Plain();
    error Detailed(uint256 code, string text, address who);

    event Nothing();
    event Stored(address indexed by, uint256 value, string text);
    event Named(string indexed name, bytes32[] hashes);

    uint256 public value;
    address public operator;

    constructor() payable {}

    receive() external payable {}

    function store(uint256 next, string calldata text) external {
        value = next;
        emit Stored(msg.sender, next, text);
    }

    function emitMany(uint256 count) external {
        for (uint256 index = 0; index < count; index++) emit Stored(msg.sender, index, "many");
        bytes32[] memory hashes = new bytes32[](2);
        hashes[1] = bytes32(uint256(7));
        emit Named("probe", hashes);
        emit Nothing();
    }

    function revertWith(string calldata reason) external {
        value++;
        revert(reason);
    }

    function revertWithout() external {
        value++;
        revert();
    }

    function revertPlain() external {
        value++;
        revert Plain();
    }

    function revertDetailed(uint256 code, string calldata text) external {
        value++;
        revert Detailed(code, text, msg.sender);
    }

    function failAssert() external {
        value++;
        assert(value == 0);
    }

    function overflow() external {
        value = type(uint256).max;
        value += 1;
    }

    function divide(uint256 by) external returns (uint256) {
        value++;
        return 7 / by;
    }

    function stop() external {
        value++;
        assembly {
            invalid()
        }
    }

    function pay(address payable to, uint256 amount) external {
        to.transfer(amount);
    }

    function surroundings() external view returns (uint256, uint256, uint256, address, uint256) {
        return (block.prevrandao, block.basefee, block.gaslimit, block.coinbase, block.timestamp);
    }

    // A token, for the matchers of balances.
    mapping(address => uint256) public balanceOf;

    string public constant name = "Probe token";
    string public constant symbol = "PRB";
    uint8 public constant decimals = 18;

    event Transfer(address indexed from, address indexed to, uint256 value);

    function mint(address to, uint256 amount) external {
        balanceOf[to] += amount;
        emit Transfer(address(0), to, amount);
    }

    function transfer(address to, uint256 amount) external returns (bool) {
        balanceOf[msg.sender] -= amount;
        balanceOf[to] += amount;
        emit Transfer(msg.sender, to, amount);
        return true;
    }
}
