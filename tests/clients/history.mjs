/** A chain of every fork, read by ethers and by viem: `node history.mjs HTTP_URL SOCKET_URL LAST`. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { JsonRpcProvider, Transaction } from "ethers";
import { createPublicClient, keccak256, serializeTransaction, webSocket } from "viem";
import { numbers, url } from "./demo.mjs";

const [socketUrl, last] = process.argv.slice(3);
const provider = new JsonRpcProvider(url);
const client = createPublicClient({ transport: webSocket(socketUrl) });
const heights = numbers(0, Number(last));
const blocks = Promise.all(heights.map((height) => provider.getBlock(height, true)));
const sameBlocks = Promise.all(
  heights.map((height) => client.getBlock({ blockNumber: BigInt(height), includeTransactions: true })),
);

after(async () => {
  provider.destroy();
  (await client.transport.getRpcClient()).close();
});

test("both see the same chain, each block on top of the one before", async () => {
  const chain = await blocks;
  assert.deepEqual(chain.map(({ hash }) => hash), (await sameBlocks).map(({ hash }) => hash));
  chain.slice(1).forEach(({ parentHash }, place) => assert.equal(parentHash, chain[place].hash));
});

test("every transaction that ethers encodes again has its hash and its sender", async () => {
  const transactions = (await blocks).flatMap(({ prefetchedTransactions }) => prefetchedTransactions);
  assert.deepEqual([...new Set(transactions.map(({ type }) => type))].sort(), [0, 1, 2, 3, 4]);
  for (const each of transactions) {
    const again = Transaction.from(each);
    assert.deepEqual([again.hash, again.from], [each.hash, each.from]);
  }
});

test("every transaction that viem encodes again has its hash", async () => {
  for (const { r, s, v, yParity, ...each } of (await sameBlocks).flatMap(({ transactions }) => transactions)) {
    const again = serializeTransaction({ ...each, data: each.input }, { r, s, v, yParity });
    assert.equal(keccak256(again), each.hash);
  }
});

test("every receipt after block 2 belongs to its transaction, for both", async () => {
  // The logs of block 2 alone weigh 20 MB.
  const transactions = (await sameBlocks).slice(3).flatMap((block) => block.transactions);
  await Promise.all(
    transactions.map(async ({ hash, type, blockHash }) => {
      const receipt = await client.getTransactionReceipt({ hash });
      const same = await provider.getTransactionReceipt(hash);
      assert.deepEqual([receipt.type, receipt.blockHash], [type, blockHash]);
      assert.deepEqual([same.blockHash, same.gasUsed], [blockHash, receipt.gasUsed]);
      assert.deepEqual(same.logs.map(({ index }) => index), receipt.logs.map(({ logIndex }) => logIndex));
    }),
  );
});
