/** Hardhat on a fork, with swaps that tests take back: `UPSTREAM=URL BLOCK=NUMBER node hardhat.mjs URL`. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Contract, toQuantity } from "ethers";
import { ethers, networkHelpers as helpers, request } from "./connection.mjs";
import { abi, exchange, paid, price, token, tokenAbi } from "./swap.mjs";

const { UPSTREAM: upstream, BLOCK: block } = process.env;
const trader = (await ethers.getSigners())[3];
const market = new Contract(exchange, abi, trader);
const coin = new Contract(token, tokenAbi, trader);

test("a fixture with a swap is taken back to", async () => {
  const swapped = async () => {
    const [ether, stock] = [await market.etherReserve(), await market.tokenReserve()];
    const before = await coin.balanceOf(trader.address);
    await (await market.buy(0n, { value: paid })).wait();
    assert.equal(await coin.balanceOf(trader.address), before + price(paid, ether, stock));
    return coin.balanceOf(trader.address);
  };
  const after = await helpers.loadFixture(swapped);
  await (await market.buy(0n, { value: paid })).wait();
  assert.equal(await helpers.loadFixture(swapped), after);
  assert.equal(await coin.balanceOf(trader.address), after);
});

test("the contract's own account sends tokens", async () => {
  await helpers.impersonateAccount(exchange);
  await helpers.setBalance(exchange, 10n ** 20n);
  const before = await coin.balanceOf(trader.address);
  const other = coin.connect(await ethers.getSigner(exchange));
  await (await other.transfer(trader.address, 7n)).wait();
  assert.equal(await coin.balanceOf(trader.address), before + 7n);
  await helpers.stopImpersonatingAccount(exchange);
});

test("it is put on another block and back", async () => {
  const number = Number(block);
  for (const wanted of [number - 2, number]) {
    await request({ method: "hardhat_reset", params: [{ forking: { jsonRpcUrl: upstream, blockNumber: wanted } }] });
    assert.equal(await request({ method: "eth_blockNumber" }), toQuantity(wanted));
  }
  const before = await coin.balanceOf(trader.address);
  await (await market.buy(0n, { value: paid })).wait();
  assert.ok((await coin.balanceOf(trader.address)) > before);
});
