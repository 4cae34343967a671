/** viem watches blocks, logs and pending transactions of a busy chain: `node watch_viem.mjs URL`. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createWalletClient, http, publicActions, webSocket } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { foundry } from "viem/chains";
import { demo, url } from "./demo.mjs";
import { replaceFrom, until } from "./watch.mjs";

const account = privateKeyToAccount("0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d");
const transport = url.startsWith("ws") ? webSocket(url) : http(url);
const client = createWalletClient({ account, chain: foundry, transport, pollingInterval: 50, cacheTime: 0 }).extend(publicActions);
const transfer = demo.abi.find(({ name, type }) => name === "Transfer" && type === "event");
const blocks = [];
const logs = [];
const pending = [];
const failures = [];
const onError = (error) => failures.push(error);

after(async () => {
  if (url.startsWith("ws")) (await client.transport.getRpcClient()).close();
});

test("whole blocks come with their receipts", { skip: !url.startsWith("ws") }, async () => {
  const whole = [];
  const params = ["newBlocks", { transactions: true, receipts: true }];
  const onData = ({ result }) => whole.push(result);
  const { unsubscribe } = await client.transport.subscribe({ params, onData, onError });
  await until("a block with transactions comes", () => whole.some(({ transactions }) => transactions.length > 0));
  await unsubscribe();
  const told = whole.find(({ transactions }) => transactions.length > 0);
  const { receipts, ...block } = told;
  assert.deepEqual(receipts, await client.request({ method: "eth_getBlockReceipts", params: [block.hash] }));
  const { totalDifficulty: _, ...wanted } = await client.request({ method: "eth_getBlockByHash", params: [block.hash, true] });
  assert.deepEqual(block, wanted);
});

test("a transaction is seen to wait, to be mined, to be taken back and to be mined again", async () => {
  const unwatch = [
    client.watchBlocks({ onBlock: (block) => blocks.push(block), onError }),
    client.watchEvent({ address: demo.token, event: transfer, args: { from: account.address }, onLogs: (some) => logs.push(...some), onError }),
    client.watchPendingTransactions({ onTransactions: (some) => pending.push(...some), onError }),
  ];
  await until("blocks and pending transactions come", () => blocks.length > 1 && pending.length > 1);

  const hash = await client.writeContract({ address: demo.token, abi: demo.abi, functionName: "transfer", args: [demo.recipient, 7n] });
  const receipt = await client.waitForTransactionReceipt({ hash });
  assert.equal(receipt.status, "success");
  await until("it is pending", () => pending.includes(hash));
  await until("its log comes", () => logs.length === 1);
  await until("its block comes", () => blocks.some(({ number }) => number >= receipt.blockNumber));
  assert.deepEqual([logs[0].transactionHash, logs[0].blockHash, logs[0].removed], [hash, receipt.blockHash, false]);
  assert.equal(logs[0].args.value, 7n);

  await replaceFrom(receipt, async () => Number(await client.getBlockNumber()), (options) =>
    client.request({ method: "wsnode_reorg", params: [options] }),
  );
  await until("its log is taken back and comes again", () => logs.length === 3);
  assert.deepEqual(logs.map(({ removed }) => removed), [false, true, false]);
  assert.deepEqual([logs[1].blockHash, logs[2].transactionHash], [receipt.blockHash, hash]);
  assert.notEqual(logs[2].blockHash, receipt.blockHash);
  assert.equal((await client.getTransactionReceipt({ hash })).blockHash, logs[2].blockHash);

  const told = blocks.length;
  await until("blocks go on coming", () => blocks.length > told + 2);
  for (const end of unwatch) await end();
  const [number, last, waiting] = [await client.getBlockNumber(), blocks.length, pending.length];
  await until("two blocks more", async () => (await client.getBlockNumber()) >= number + 2n);
  // What was on its way when the watch ended may still have come.
  assert.ok(blocks.length <= last + 1 && pending.length <= waiting + 1);
  assert.deepEqual(failures, []);
});
