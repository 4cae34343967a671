/** ethers against the demo chain, as a user's first script would use it: `node ethers.mjs URL`. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { Contract, JsonRpcProvider, Transaction, Wallet, WebSocketProvider, ZeroAddress } from "ethers";
import { balancesAfter, demo, numbers, url } from "./demo.mjs";

const provider = url.startsWith("ws") ? new WebSocketProvider(url) : new JsonRpcProvider(url);
const token = new Contract(demo.token, demo.abi, provider);
const tooMuch = [demo.recipient, demo.tooMuch, { from: demo.holder }];

after(() => provider.destroy());

test("the network is recognised by its chain id", async () => {
  assert.equal((await provider.getNetwork()).chainId, BigInt(demo.chainId));
});

test("the block number is the head's", async () => {
  const number = await provider.getBlockNumber();
  assert.ok(number >= demo.last);
  assert.ok((await provider.getBlock("latest")).number >= number);
});

test("a block has hashes, and whole transactions when they are asked for", async () => {
  const [block, full] = await Promise.all([provider.getBlock(2), provider.getBlock(2, true)]);
  assert.equal(block.transactions.length, 9);
  assert.deepEqual(full.transactions, block.transactions);
  assert.deepEqual(full.prefetchedTransactions.map((each) => Transaction.from(each).hash), block.transactions);
  assert.equal((await provider.getBlock(block.hash)).parentHash, (await provider.getBlock(1)).hash);
});

test("a block beyond the head and an unknown transaction are null", async () => {
  assert.equal(await provider.getBlock(1_000_000_000), null);
  assert.equal(await provider.getTransaction("0x" + "11".repeat(32)), null);
  assert.equal(await provider.getTransactionReceipt("0x" + "11".repeat(32)), null);
});

test("balance, code, storage and nonce are read at a block", async () => {
  const ether = 10n ** 18n;
  assert.equal(await provider.getBalance(demo.creator, 0), 10_000n * ether);
  assert.ok((await provider.getBalance(demo.creator, 1)) < 10_000n * ether);
  assert.equal(await provider.getCode(demo.token, 0), "0x");
  assert.ok((await provider.getCode(demo.token)).length > 1000);
  assert.equal((await provider.getStorage(demo.token, 0)).length, 66);
  assert.equal(await provider.getTransactionCount(demo.creator, 2), 10);
});

test("a transaction and its receipt fit together", async () => {
  const { transactions } = await provider.getBlock(2);
  const transaction = await provider.getTransaction(transactions[0]);
  const receipt = await provider.getTransactionReceipt(transactions[0]);
  assert.deepEqual([transaction.from, transaction.to, transaction.type], [demo.creator, demo.token, 2]);
  assert.deepEqual([receipt.status, receipt.index, receipt.logs.length], [1, 0, 1]);
  assert.equal(receipt.gasPrice, transaction.gasPrice);
  assert.equal((await transaction.wait()).hash, receipt.hash);
  const failed = (await provider.getBlock(10)).transactions.at(-1);
  assert.equal((await provider.getTransactionReceipt(failed)).status, 0);
});

test("the token's events add up to its balances", async () => {
  const events = await token.queryFilter(token.filters.Transfer(), 0, demo.last);
  const balances = balancesAfter(events.map(({ args }) => ({ from: args.from, to: args.to, value: args.value })));
  assert.equal(balances.get(ZeroAddress), -BigInt(demo.supply));
  balances.delete(ZeroAddress);
  for (const [account, balance] of balances) {
    assert.equal(await token.balanceOf(account, { blockTag: demo.last }), balance);
  }
});

test("events are filtered by their indexed arguments", async () => {
  const all = await token.queryFilter("Transfer", 0, demo.last);
  const sent = await token.queryFilter(token.filters.Transfer(demo.holder), 0, demo.last);
  const received = await token.queryFilter(token.filters.Transfer(null, demo.holder), 0, demo.last);
  assert.ok(sent.length > 0 && received.length > 0);
  assert.equal(sent.length, all.filter(({ args }) => args.from === demo.holder).length);
  assert.equal(received.length, all.filter(({ args }) => args.to === demo.holder).length);
});

test("the token's views are read", async () => {
  const views = await Promise.all([token.name(), token.symbol(), token.decimals(), token.totalSupply()]);
  assert.deepEqual(views, ["Demo Token", "DEMO", 18n, BigInt(demo.supply)]);
  assert.equal(await token.balanceOf(demo.holder, { blockTag: 2 }), BigInt(demo.grant));
});

test("a revert is a CALL_EXCEPTION with the contract's reason", async () => {
  const expected = { code: "CALL_EXCEPTION", reason: "Token: insufficient balance" };
  await assert.rejects(token.transfer.staticCall(...tooMuch), expected);
  await assert.rejects(token.transfer.estimateGas(...tooMuch), (error) => {
    assert.deepEqual({ code: error.code, reason: error.reason }, expected);
    assert.equal(error.info.error.code, 3);
    return true;
  });
});

test("too little ether is INSUFFICIENT_FUNDS", async () => {
  const transfer = { from: demo.holder, to: demo.recipient, value: 10n ** 30n };
  await assert.rejects(provider.estimateGas(transfer), { code: "INSUFFICIENT_FUNDS" });
});

test("gas is estimated, and a wallet completes a transaction by itself", async () => {
  const transfer = { from: demo.holder, to: demo.recipient, value: 1n };
  assert.equal(await provider.estimateGas(transfer), 21_000n);
  const gas = await token.transfer.estimateGas(demo.recipient, 1n, { from: demo.holder });
  assert.ok(gas > 30_000n && gas < 60_000n);
  const wallet = Wallet.createRandom(provider);
  const complete = await wallet.populateTransaction({ to: demo.recipient, value: 0n });
  assert.deepEqual([complete.type, complete.nonce, complete.gasLimit], [2, 0, 21_000n]);
  assert.equal(complete.chainId, BigInt(demo.chainId));
});

test("fees are advised", async () => {
  const fees = await provider.getFeeData();
  assert.ok(fees.gasPrice > 0n && fees.maxPriorityFeePerGas > 0n);
  assert.ok(fees.maxFeePerGas >= fees.maxPriorityFeePerGas);
  const history = await provider.send("eth_feeHistory", ["0x5", "latest", [10, 50]]);
  assert.deepEqual([history.baseFeePerGas.length, history.reward.length], [6, 5]);
});

test("20 calls at once are each answered with their own result", async () => {
  const blocks = await Promise.all(numbers(1, 20).map((number) => provider.getBlock(number)));
  assert.deepEqual(blocks.map(({ number }) => number), numbers(1, 20));
});

test("over HTTP, calls made together travel as one batch", { skip: url.startsWith("ws") }, async () => {
  const payloads = [];
  const listener = ({ action, payload }) => action === "sendRpcPayload" && payloads.push(payload);
  await provider.on("debug", listener);
  await Promise.all(numbers(1, 20).map((number) => provider.send("eth_getBlockByNumber", [`0x${number.toString(16)}`, true])));
  await provider.off("debug", listener);
  assert.deepEqual(payloads.map(({ length }) => length), [20]);
});

test("a method that does not exist is an UNSUPPORTED_OPERATION", async () => {
  await assert.rejects(provider.send("eth_noSuchMethod", []), { code: "UNSUPPORTED_OPERATION" });
});
