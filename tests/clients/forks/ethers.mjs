/** ethers buys and sells on a fork: `node ethers.mjs URL`. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { Contract, JsonRpcProvider, NonceManager, Wallet, WebSocketProvider } from "ethers";
import { abi, exchange, key, paid, price, token, tokenAbi, url } from "./swap.mjs";

// Otherwise it takes an answer for the next one to the same question for a quarter of a second.
const options = { cacheTimeout: -1 };
const provider = url.startsWith("ws")
  ? new WebSocketProvider(url, undefined, options)
  : new JsonRpcProvider(url, undefined, options);
const wallet = new Wallet(key, provider);
const market = new Contract(exchange, abi, new NonceManager(wallet));
const coin = new Contract(token, tokenAbi, market.runner);

after(() => provider.destroy());

test("ether is swapped for tokens, and back", async () => {
  const [ether, stock] = [await market.etherReserve(), await market.tokenReserve()];
  const before = await coin.balanceOf(wallet.address);
  const bought = await market.buy.staticCall(0n, { value: paid });
  assert.equal(bought, price(paid, ether, stock));
  const receipt = await (await market.buy(0n, { value: paid })).wait();
  assert.equal(receipt.status, 1);
  const told = receipt.logs.map((log) => market.interface.parseLog(log)).find((log) => log?.name === "Swap");
  assert.equal(told.args.tokenOut, bought);
  assert.equal(await coin.balanceOf(wallet.address), before + bought);

  await (await coin.approve(exchange, bought)).wait();
  assert.ok((await market.sell.estimateGas(bought, 0n)) > 21_000n);
  const earned = price(bought, stock - bought, ether + paid);
  assert.equal(await market.sell.staticCall(bought, 0n), earned);
  await (await market.sell(bought, 0n)).wait();
  assert.equal(await coin.balanceOf(wallet.address), before);
  assert.equal(await market.etherReserve(), ether + paid - earned);
});

test("a swap for more than there is says why it is refused", async () => {
  await assert.rejects(market.buy.staticCall(10n ** 30n, { value: 1n }), /Exchange: price moved/);
});
