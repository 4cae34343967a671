/** ethers watches blocks, logs and pending transactions of a busy chain: `node watch_ethers.mjs URL`. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { Contract, JsonRpcProvider, SocketSubscriber, Wallet, WebSocketProvider, zeroPadValue } from "ethers";
import { demo, url } from "./demo.mjs";
import { replaceFrom, until } from "./watch.mjs";

const options = { cacheTimeout: -1, pollingInterval: 50 };
const dropped = [];
// ethers takes note of logs that are taken back, but keeps them from those who watch.
const noting = (Provider) =>
  class extends Provider {
    emit(event, ...values) {
      if (values[0]?.removed === true) dropped.push(values[0]);
      return super.emit(event, ...values);
    }
  };
const provider = new (noting(url.startsWith("ws") ? WebSocketProvider : JsonRpcProvider))(url, undefined, options);
const wallet = new Wallet("0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a", provider);
const token = new Contract(demo.token, demo.abi, wallet);
const filter = { address: demo.token, topics: [demo.transferTopic, zeroPadValue(wallet.address, 32)] };
const blocks = [];
const logs = [];
const pending = [];

after(() => provider.destroy());

test("whole blocks come with their receipts", { skip: !url.startsWith("ws") }, async () => {
  const whole = [];
  class BlockSubscriber extends SocketSubscriber {
    async _emit(_provider, block) {
      whole.push(block);
    }
  }
  const subscriber = new BlockSubscriber(provider, ["newBlocks", { transactions: true, receipts: true }]);
  subscriber.start();
  await until("a block with transactions comes", () => whole.some(({ transactions }) => transactions.length > 0));
  subscriber.stop();
  const { receipts, ...block } = whole.find(({ transactions }) => transactions.length > 0);
  assert.deepEqual(receipts, await provider.send("eth_getBlockReceipts", [block.hash]));
  const { totalDifficulty: _, ...wanted } = await provider.send("eth_getBlockByHash", [block.hash, true]);
  assert.deepEqual(block, wanted);
});

test("a transaction is seen to wait, to be mined, to be taken back and to be mined again", async () => {
  await provider.on("block", (number) => blocks.push(number));
  await provider.on("pending", (hash) => pending.push(hash));
  await provider.on(filter, (log) => logs.push(log));
  await until("blocks and pending transactions come", () => blocks.length > 1 && pending.length > 1);

  const sent = await token.transfer(demo.recipient, 0n);
  const receipt = await sent.wait();
  assert.equal(receipt.status, 1);
  await until("it is pending", () => pending.includes(sent.hash));
  await until("its log comes", () => logs.length === 1);
  await until("its block comes", () => blocks.includes(receipt.blockNumber));
  assert.deepEqual([logs[0].transactionHash, logs[0].blockHash, logs[0].removed], [sent.hash, receipt.blockHash, false]);

  await replaceFrom(receipt, () => provider.getBlockNumber(), (options) => provider.send("wsnode_reorg", [options]));
  await until("its log is taken back and comes again", () => logs.length === 2 && dropped.length === 1);
  assert.deepEqual([dropped[0].removed, dropped[0].blockHash], [true, receipt.blockHash]);
  assert.deepEqual([logs[1].removed, logs[1].transactionHash], [false, sent.hash]);
  assert.notEqual(logs[1].blockHash, receipt.blockHash);
  assert.equal((await provider.getTransactionReceipt(sent.hash)).blockHash, logs[1].blockHash);

  const told = blocks.length;
  await until("blocks go on coming", () => blocks.length > told + 2);
  await provider.removeAllListeners();
  const [number, last, waiting] = [await provider.getBlockNumber(), blocks.length, pending.length];
  await until("two blocks more", async () => (await provider.getBlockNumber()) >= number + 2);
  assert.deepEqual([blocks.length, pending.length], [last, waiting]);
});
