/** viem buys and sells on a fork: `node viem.mjs URL`. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createTestClient, createWalletClient, defineChain, http, parseAbi, publicActions, webSocket } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { abi as exchangeAbi, exchange, key, paid, price, token, tokenAbi, url } from "./swap.mjs";

const transport = url.startsWith("ws") ? webSocket(url) : http(url);
const account = privateKeyToAccount(key);
const currency = { name: "Ether", symbol: "ETH", decimals: 18 };
const chain = defineChain({ id: 31337, name: "fork", nativeCurrency: currency, rpcUrls: { default: { http: [url] } } });
const client = createTestClient({ chain, mode: "anvil", transport }).extend(publicActions);
const wallet = createWalletClient({ account, chain, transport });
const [market, coin] = [parseAbi(exchangeAbi), parseAbi(tokenAbi)];

after(async () => {
  if (url.startsWith("ws")) (await client.transport.getRpcClient()).close();
  if (url.startsWith("ws")) (await wallet.transport.getRpcClient()).close();
});

const read = (functionName) => client.readContract({ address: exchange, abi: market, functionName });
const tokens = () =>
  client.readContract({ address: token, abi: coin, functionName: "balanceOf", args: [account.address] });

async function write(address, abi, functionName, args, value) {
  const { request, result } = await client.simulateContract({ account, address, abi, functionName, args, value });
  const hash = await wallet.writeContract(request);
  const receipt = await client.waitForTransactionReceipt({ hash });
  assert.equal(receipt.status, "success");
  return { receipt, result };
}

test("ether is swapped for tokens, and back", async () => {
  const [ether, stock, before] = [await read("etherReserve"), await read("tokenReserve"), await tokens()];
  const { result: bought, receipt } = await write(exchange, market, "buy", [0n], paid);
  assert.equal(bought, price(paid, ether, stock));
  assert.equal(await tokens(), before + bought);
  const [swap] = await client.getContractEvents({
    address: exchange, abi: market, eventName: "Swap", blockHash: receipt.blockHash, strict: true,
  });
  assert.equal(swap.args.tokenOut, bought);

  await write(token, coin, "approve", [exchange, bought]);
  const { result: earned } = await write(exchange, market, "sell", [bought, 0n]);
  assert.equal(earned, price(bought, stock - bought, ether + paid));
  assert.equal(await tokens(), before);
  assert.equal(await read("etherReserve"), ether + paid - earned);
});

test("events before the fork are found with those behind it", async () => {
  const events = await client.getContractEvents({ address: exchange, abi: market, fromBlock: 0n });
  assert.ok(events.length >= 2);
});

test("a swap that is taken back leaves nothing", async () => {
  const [before, id] = [await tokens(), await client.snapshot()];
  await write(exchange, market, "buy", [0n], paid);
  assert.ok((await tokens()) > before);
  await client.revert({ id });
  assert.equal(await tokens(), before);
});
