/**
 * ethers, viem and web3.js read the blocks of a chain under Amsterdam's rules, whose transactions no public chain
 * has: `node new_forms.mjs HTTP_URL SOCKET_URL`.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { JsonRpcProvider, WebSocketProvider, keccak256 } from "ethers";
import { createPublicClient, http, webSocket } from "viem";
import { Web3 } from "web3";
import { LIBRARIES, subscribeWithAll } from "./raw_subscriptions.mjs";

const [url, socketUrl] = process.argv.slice(2);
const raw = async (method, ...params) => {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  const reply = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body });
  return (await reply.json()).result;
};
const last = Number(await raw("eth_blockNumber"));
const blocks = await Promise.all(
  Array.from({ length: last }, (_, index) => raw("eth_getBlockByNumber", `0x${(index + 1).toString(16)}`, true)),
);
const lower = (text) => text.toLowerCase();

test("there is one transaction of each form", () => {
  assert.deepEqual(blocks.map((block) => block.transactions.length), [1, 1, 1]);
});

test("ethers reads blocks, transactions and receipts", async () => {
  const provider = new JsonRpcProvider(url);
  for (const block of blocks) {
    const read = await provider.getBlock(block.hash, true);
    assert.equal(read.hash, block.hash);
    for (const sent of block.transactions) {
      const transaction = await provider.getTransaction(sent.hash);
      assert.equal(lower(transaction.from), sent.from);
      assert.equal((await provider.getTransactionReceipt(sent.hash)).status, 1);
    }
    const list = await provider.send("debug_getRawBlockAccessList", [block.number]);
    assert.equal(keccak256(list), block.blockAccessListHash);
    assert.ok((await provider.send("eth_getBlockAccessList", [block.number])).length > 0);
  }
  provider.destroy();
});

test("viem reads blocks, transactions and receipts", async () => {
  const client = createPublicClient({ transport: http(url) });
  for (const block of blocks) {
    const read = await client.getBlock({ blockHash: block.hash, includeTransactions: true });
    assert.equal(read.hash, block.hash);
    assert.deepEqual(read.transactions.map((each) => each.hash), block.transactions.map((each) => each.hash));
    for (const sent of block.transactions) {
      assert.equal((await client.getTransaction({ hash: sent.hash })).from, sent.from);
      assert.equal((await client.getTransactionReceipt({ hash: sent.hash })).status, "success");
    }
    const list = await client.request({ method: "eth_getBlockAccessList", params: [block.number] });
    assert.ok(list.some((each) => each.address === block.transactions[0].from));
  }
});

test("web3.js reads blocks, transactions and receipts", async () => {
  const web3 = new Web3(url);
  for (const block of blocks) {
    const read = await web3.eth.getBlock(block.hash, true);
    assert.equal(read.hash, block.hash);
    for (const sent of block.transactions) {
      assert.equal(lower((await web3.eth.getTransaction(sent.hash)).from), sent.from);
      assert.equal((await web3.eth.getTransactionReceipt(sent.hash)).status, 1n);
    }
    const list = await web3.provider.request({ jsonrpc: "2.0", id: 1, method: "eth_getBlockAccessList", params: [block.number] });
    assert.ok(list.result.length > 0);
  }
});

test("each hears of a new block", async () => {
  const ethers = new WebSocketProvider(socketUrl);
  const viem = createPublicClient({ transport: webSocket(socketUrl) });
  const web3 = new Web3(socketUrl);
  const heads = await web3.eth.subscribe("newBlockHeaders");
  const told = [
    // Not `once`: its eth_unsubscribe, which nobody awaits, would be cut off by `destroy`.
    new Promise((resolve) => ethers.on("block", resolve)),
    new Promise((resolve, reject) => {
      const stop = viem.watchBlocks({ onBlock: (block) => (stop(), resolve(Number(block.number))), onError: reject });
    }),
    new Promise((resolve) => heads.once("data", (header) => resolve(Number(header.number)))),
  ];
  // Until the subscriptions of all three are there, blocks may pass some of them by.
  const mining = setInterval(() => raw("evm_mine"), 500);
  for (const number of await Promise.all(told)) assert.ok(number > last);
  clearInterval(mining);
  await ethers.destroy();
  web3.provider.disconnect();
  (await viem.transport.getRpcClient()).close();
});

test("each subscribes to whole blocks, and to mined transactions in Alchemy's form", async () => {
  const kinds = [
    ["newBlocks", { transactions: true, receipts: true }],
    ["alchemy_minedTransactions", { hashesOnly: true }],
  ];
  const told = new Map();
  const close = await subscribeWithAll(socketUrl, kinds, (library, place, result) => {
    // A block that was still to be mined for the test before has none.
    if (result.transactions?.length === 0) return;
    if (!told.has(`${library} ${place}`)) told.set(`${library} ${place}`, result);
  });
  const [from] = await raw("eth_accounts");
  while (told.size < kinds.length * LIBRARIES.length) {
    // Until the subscriptions of all are there, blocks may pass some of them by.
    await raw("eth_sendTransaction", { from, to: from });
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  for (const library of LIBRARIES) {
    const [block, mined] = [told.get(`${library} 0`), told.get(`${library} 1`)];
    assert.equal(block.transactions[0].from, lower(from));
    assert.equal(block.receipts[0].transactionHash, block.transactions[0].hash);
    assert.deepEqual([mined.removed, Object.keys(mined.transaction)], [false, ["hash"]]);
  }
  await close();
});

test("each subscribes to outcomes of calls", async () => {
  const [from] = (await raw("eth_accounts")).map(lower);
  // The balance of an account, and a revert.
  const calls = [{ data: `0x73${from.slice(2)}315f5260205ff3` }, { data: "0x5f5ffd" }];
  const told = Object.fromEntries(LIBRARIES.map((library) => [library, []]));
  const close = await subscribeWithAll(socketUrl, [["calls", { calls }]], (library, _, result) => told[library].push(result));
  while (!LIBRARIES.every((library) => told[library].length > 2)) {
    await raw("eth_sendTransaction", { from, to: from });
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  for (const library of LIBRARIES) {
    const [first, ...later] = told[library];
    assert.ok(first.complete || ["ethers5", "web3"].includes(library));
    if (first.complete) assert.deepEqual([first.results.length, first.results[1].error.code], [2, 3]);
    for (const { results } of later) assert.deepEqual(results.map(({ index }) => index), [0]);
    for (const { blockHash, results } of told[library])
      assert.equal(BigInt(results[0].result), BigInt(await raw("eth_getBalance", from, { blockHash })));
  }
  await close();
});

test("each subscribes to values of the state, and to pending transactions of an address", async () => {
  const [from, other] = (await raw("eth_accounts")).map(lower);
  const kinds = [
    ["state", { accounts: [from] }],
    ["newPendingTransactions", true, { fromAddress: from }],
    ["newPendingTransactions", true, { toAddress: [other] }],
  ];
  const told = Object.fromEntries(LIBRARIES.map((library) => [library, kinds.map(() => [])]));
  const close = await subscribeWithAll(socketUrl, kinds, (library, place, result) => told[library][place].push(result));
  const heard = () => LIBRARIES.every((library) => told[library][0].length > 2 && told[library][1].length > 1);
  while (!heard()) {
    await raw("eth_sendTransaction", { from, to: from });
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  await raw("evm_mine");
  for (const library of LIBRARIES) {
    const [states, selected, others] = told[library];
    // Both register a subscription some turns after its reply, and drop what has come by then.
    const mayDropTheFirst = ["ethers5", "web3"].includes(library);
    assert.ok(states[0].complete || mayDropTheFirst);
    const held = {};
    for (const { blockHash, accounts } of states) {
      Object.assign(held, accounts[from]);
      const proof = await raw("eth_getProof", from, [], { blockHash });
      for (const name of ["balance", "nonce", "codeHash"])
        if (states[0].complete || name in held) assert.equal(held[name], proof[name]);
    }
    for (const transaction of selected) assert.equal(lower(transaction.from), from);
    assert.deepEqual(others, []);
  }
  await close();
});
