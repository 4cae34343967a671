/** viem and ethers on a chain of a family: `node families.mjs URL NAME EXPECTED.json`, with what its node says. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, test } from "node:test";
import { JsonRpcProvider } from "ethers";
import { createPublicClient, http } from "viem";
import { arbitrum, bsc, gnosis, linea, optimism, polygon } from "viem/chains";

const [url, name, expected] = process.argv.slice(2);
const { chainId, block, receipts } = JSON.parse(readFileSync(expected));
// The blocks of the OP stack are of a chain with an id of its own.
const op = { ...optimism, id: Number(chainId) };
const chain = { arbitrum, bsc, gnosis, linea, op, polygon }[name];
const client = createPublicClient({ chain, transport: http(url) });
const provider = new JsonRpcProvider(url);
const logs = receipts.flatMap((receipt) => receipt.logs);
const some = receipts.slice(0, 20);
const L1_FEES = ["l1Fee", "l1GasPrice", "l1GasUsed", "l1BlobBaseFee", "l1BaseFeeScalar"];

after(() => provider.destroy());

test("viem knows the chain by its definition", async () => {
  assert.equal(await client.getChainId(), chain.id);
});

test("viem reads the block and all its transactions with the members of their family", async () => {
  const found = await client.getBlock({ blockHash: block.hash, includeTransactions: true });
  assert.equal(found.number, BigInt(block.number));
  assert.equal(found.extraData, block.extraData);
  assert.equal(found.difficulty, BigInt(block.difficulty));
  assert.equal(found.baseFeePerGas, BigInt(block.baseFeePerGas));
  assert.deepEqual(found.transactions.map((each) => each.hash), block.transactions.map((each) => each.hash));
  for (const [index, transaction] of found.transactions.entries()) {
    const told = block.transactions[index];
    assert.equal(transaction.typeHex, told.type);
    assert.equal(transaction.value, BigInt(told.value));
    assert.equal(transaction.from, told.from);
    if (told.type !== "0x7e") continue;
    assert.equal(transaction.type, "deposit");
    assert.equal(transaction.sourceHash, told.sourceHash);
    assert.equal(transaction.mint, told.mint === undefined ? undefined : BigInt(told.mint));
  }
  for (const member of ["sendRoot", "sendCount", "l1BlockNumber"]) {
    assert.equal(found[member], block[member], member);
  }
});

test("viem reads receipts with the members of their family", async () => {
  for (const told of some) {
    const found = await client.getTransactionReceipt({ hash: told.transactionHash });
    assert.equal(found.gasUsed, BigInt(told.gasUsed));
    assert.equal(found.status, told.status === "0x1" ? "success" : "reverted");
    assert.equal(found.logs.length, told.logs.length);
    assert.equal(found.l1BlockNumber, told.l1BlockNumber);
    for (const member of L1_FEES.filter((each) => told[each] !== undefined)) {
      assert.equal(BigInt(found[member]), BigInt(told[member]), member);
    }
  }
});

test("viem and ethers read the logs", async () => {
  const hashes = logs.map((log) => log.transactionHash);
  const found = await client.getLogs({ blockHash: block.hash });
  assert.deepEqual(found.map((log) => log.transactionHash), hashes);
  const same = await provider.getLogs({ blockHash: block.hash });
  assert.deepEqual(same.map((log) => log.transactionHash), hashes);
});

test("ethers reads the block, its transactions and their receipts", async () => {
  const found = await provider.getBlock(Number(block.number), true);
  assert.equal(found.hash, block.hash);
  assert.deepEqual(found.prefetchedTransactions.map((each) => each.hash), block.transactions.map((each) => each.hash));
  for (const told of some) {
    const receipt = await provider.getTransactionReceipt(told.transactionHash);
    assert.equal(receipt.gasUsed, BigInt(told.gasUsed));
    assert.equal(receipt.logs.length, told.logs.length);
    const transaction = await provider.getTransaction(told.transactionHash);
    assert.equal(transaction.from.toLowerCase(), told.from.toLowerCase());
  }
});
