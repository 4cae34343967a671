// SPDX-License-Identifier: MIT
// The demo's exchange of ether for tokens. `exchange.hex` is its creation code: solc 0.8.30, optimizer 200 runs,
// evmVersion paris, no metadata.
pragma solidity 0.8.30;

interface Token {
    function transfer(address to, uint256 value) external returns (bool);
    function transferFrom(address from, address to, uint256 value) external returns (bool);
}

contract Exchange {
    Token public immutable token;
    uint256 public etherReserve;
    uint256 public tokenReserve;
    uint256 public swaps;

    event Deposit(address indexed provider, uint256 etherAmount, uint256 tokenAmount);
    event Swap(address indexed trader, uint256 etherIn, uint256 tokenIn, uint256 etherOut, uint256 tokenOut);
    event Sync(uint256 etherReserve, uint256 tokenReserve);
    // The rare one: every fiftieth swap.
    event Milestone(uint256 indexed swaps, address indexed trader, uint256 etherReserve, uint256 tokenReserve);

    constructor(Token traded) {
        token = traded;
    }

    function deposit(uint256 tokenAmount) external payable {
        etherReserve += msg.value;
        tokenReserve += tokenAmount;
        token.transferFrom(msg.sender, address(this), tokenAmount);
        emit Deposit(msg.sender, msg.value, tokenAmount);
        emit Sync(etherReserve, tokenReserve);
    }

    function buy(uint256 minimum) external payable returns (uint256 bought) {
        bought = price(msg.value, etherReserve, tokenReserve);
        require(bought >= minimum, "Exchange: price moved");
        etherReserve += msg.value;
        tokenReserve -= bought;
        token.transfer(msg.sender, bought);
        emit Swap(msg.sender, msg.value, 0, 0, bought);
        swapped();
    }

    function sell(uint256 amount, uint256 minimum) external returns (uint256 earned) {
        earned = price(amount, tokenReserve, etherReserve);
        require(earned >= minimum, "Exchange: price moved");
        tokenReserve += amount;
        etherReserve -= earned;
        token.transferFrom(msg.sender, address(this), amount);
        (bool paid, ) = msg.sender.call{value: earned}("");
        require(paid, "Exchange: not payable");
        emit Swap(msg.sender, 0, amount, earned, 0);
        swapped();
    }

    // What `amount` of one side buys of the other: the product of both stays, less a fee of 0.3 %.
    function price(uint256 amount, uint256 from, uint256 to) public pure returns (uint256) {
        uint256 paid = amount * 997;
        return (paid * to) / (from * 1000 + paid);
    }

    function swapped() private {
        emit Sync(etherReserve, tokenReserve);
        unchecked {
            swaps += 1;
        }
        if (swaps % 50 == 0) emit Milestone(swaps, msg.sender, etherReserve, tokenReserve);
    }
}
