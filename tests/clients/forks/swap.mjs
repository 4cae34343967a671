/** What a swap is, for all clients: the contracts of the demo, the trader, and what an exchange must give. */
export const url = process.argv[2];
export const token = "0x5fbdb2315678afecb367f032d93f642f64180aa3";
export const exchange = "0xfbfbfddd6e35da57b7b0f9a2c10e34be70b3a4e9";
/** The fourth account of the usual mnemonic. */
export const key = "0x7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6";
export const paid = 10n ** 17n;

export const abi = [
  "function buy(uint256 minimum) payable returns (uint256 bought)",
  "function sell(uint256 amount, uint256 minimum) returns (uint256 earned)",
  "function etherReserve() view returns (uint256)",
  "function tokenReserve() view returns (uint256)",
  "event Swap(address indexed trader, uint256 etherIn, uint256 tokenIn, uint256 etherOut, uint256 tokenOut)",
];
export const tokenAbi = [
  "function balanceOf(address owner) view returns (uint256)",
  "function transfer(address to, uint256 value) returns (bool)",
  "function approve(address spender, uint256 value) returns (bool)",
];

/** What an amount of one side buys of the other: the product stays, less a fee of 0.3 %. */
export function price(amount, from, to) {
  const taken = amount * 997n;
  return (taken * to) / (from * 1000n + taken);
}
