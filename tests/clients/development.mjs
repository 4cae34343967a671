/** viem's test client against a development chain: `node development.mjs URL`. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  createTestClient,
  createWalletClient,
  http,
  parseEther,
  parseGwei,
  publicActions,
  walletActions,
  webSocket,
} from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { foundry } from "viem/chains";
import { url } from "./demo.mjs";

const transport = url.startsWith("ws") ? webSocket(url) : http(url);
const client = createTestClient({ chain: foundry, mode: "anvil", transport })
  .extend(publicActions)
  .extend(walletActions);
const hardhat = createTestClient({ chain: foundry, mode: "hardhat", transport });
const [creator, recipient] = await client.getAddresses();
const stranger = "0x0000000000000000000000000000000000002222";

after(async () => {
  if (url.startsWith("ws")) (await client.transport.getRpcClient()).close();
});

test("a transaction of the node's account has its receipt at once", async () => {
  const hash = await client.sendTransaction({ account: creator, to: recipient, value: 1n });
  assert.equal((await client.getTransactionReceipt({ hash })).status, "success");
});

test("a transaction signed by the client has its receipt at once", async () => {
  const account = privateKeyToAccount("0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d");
  const wallet = createWalletClient({ account, chain: foundry, transport });
  const hash = await wallet.sendTransaction({ to: creator, value: 1n });
  const receipt = await client.waitForTransactionReceipt({ hash });
  assert.equal(receipt.from.toLowerCase(), account.address.toLowerCase());
  // Creates a contract whose code is one byte.
  const created = await wallet.sendTransaction({ data: "0x600160005360016000f3" });
  const { contractAddress } = await client.getTransactionReceipt({ hash: created });
  assert.equal(await client.getCode({ address: contractAddress }), "0x01");
});

test("messages are signed by the node's accounts", async () => {
  const signature = await client.signMessage({ account: creator, message: "hello" });
  assert.ok(await client.verifyMessage({ address: creator, message: "hello", signature }));
});

test("typed data is signed by the node's accounts", async () => {
  const types = {
    Order: [{ name: "amount", type: "uint256" }, { name: "legs", type: "Leg[]" }],
    Leg: [{ name: "token", type: "address" }, { name: "note", type: "bytes" }],
  };
  const message = { amount: 2n ** 200n, legs: [{ token: recipient, note: "0x1234" }] };
  const told = { domain: { name: "Test", chainId: 31337 }, types, primaryType: "Order", message };
  const signature = await client.signTypedData({ account: creator, ...told });
  assert.ok(await client.verifyTypedData({ address: creator, signature, ...told }));
});

test("blocks are mined on demand, at the times that are wanted", async () => {
  const { number, timestamp } = await client.getBlock();
  await client.mine({ blocks: 3 });
  assert.equal(await client.getBlockNumber({ cacheTime: 0 }), number + 3n);
  await client.setNextBlockTimestamp({ timestamp: timestamp + 10_000n });
  await client.mine({ blocks: 1 });
  assert.equal((await client.getBlock()).timestamp, timestamp + 10_000n);
  await client.increaseTime({ seconds: 600 });
  await client.mine({ blocks: 2, interval: 60 });
  assert.ok((await client.getBlock()).timestamp >= timestamp + 10_720n);
});

test("the reply to a signed transaction is its receipt, if that is wanted", async () => {
  const account = privateKeyToAccount("0x7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6");
  const wallet = createWalletClient({ account, chain: foundry, transport });
  const request = await wallet.prepareTransactionRequest({ to: creator, value: 1n });
  const serializedTransaction = await wallet.signTransaction(request);
  const receipt = await wallet.sendRawTransactionSync({ serializedTransaction });
  assert.deepEqual([receipt.status, receipt.from], ["success", account.address.toLowerCase()]);
});

test("automine can be turned off", async () => {
  await client.setAutomine(false);
  const hash = await client.sendTransaction({ account: creator, to: recipient, value: 1n });
  assert.equal((await client.getTransaction({ hash })).blockNumber, null);
  assert.equal((await client.getTxpoolStatus()).pending, 1);
  await client.mine({ blocks: 1 });
  assert.equal((await client.getTransactionReceipt({ hash })).status, "success");
  const dropped = await client.sendTransaction({ account: creator, to: recipient, value: 2n });
  await client.dropTransaction({ hash: dropped });
  assert.equal((await client.getTxpoolStatus()).pending, 0);
  await client.setAutomine(true);
  assert.equal(await client.getAutomine(), true);
});

for (const each of [client, hardhat]) {
  test(`${each.mode}: accounts are changed and taken back by a snapshot`, async () => {
    const id = await each.snapshot();
    const before = await client.getBalance({ address: stranger });
    await each.setBalance({ address: stranger, value: parseEther("5") });
    await each.setNonce({ address: stranger, nonce: 9 });
    await each.setCode({ address: stranger, bytecode: "0x60055460005260206000f3" });
    await each.setStorageAt({ address: stranger, index: 5, value: "0x".padEnd(66, "2") });
    assert.equal(await client.getBalance({ address: stranger }), parseEther("5"));
    assert.equal(await client.getTransactionCount({ address: stranger }), 9);
    assert.equal((await client.call({ to: stranger })).data, "0x".padEnd(66, "2"));
    await each.mine({ blocks: 2 });
    await each.revert({ id });
    assert.equal(await client.getBalance({ address: stranger }), before);
    assert.equal(await client.getCode({ address: stranger }), undefined);
  });

  test(`${each.mode}: the next block has the fee and the limit that are wanted`, async () => {
    await each.setNextBlockBaseFeePerGas({ baseFeePerGas: parseGwei("20") });
    await each.setBlockGasLimit({ gasLimit: 40_000_000n });
    const hash = await client.sendTransaction({ account: creator, to: recipient, value: 1n });
    const { effectiveGasPrice } = await client.getTransactionReceipt({ hash });
    assert.ok(effectiveGasPrice > parseGwei("20"));
    const { baseFeePerGas, gasLimit } = await client.getBlock();
    assert.deepEqual([baseFeePerGas, gasLimit], [parseGwei("20"), 40_000_000n]);
  });

  test(`${each.mode}: accounts are written down and put back`, async () => {
    const address = "0x0000000000000000000000000000000000004444";
    await each.setBalance({ address, value: 5n });
    await each.setCode({ address, bytecode: "0x6001" });
    const dump = await each.dumpState();
    await each.setBalance({ address, value: 6n });
    await each.loadState({ state: dump });
    assert.equal(await client.getBalance({ address }), 5n);
    assert.equal(await client.getCode({ address }), "0x6001");
  });

  test(`${each.mode}: an account is impersonated`, async () => {
    await each.setBalance({ address: stranger, value: parseEther("1") });
    await each.impersonateAccount({ address: stranger });
    const hash = await client.sendTransaction({ account: stranger, to: recipient, value: 1n });
    const receipt = await client.getTransactionReceipt({ hash });
    assert.equal(receipt.from.toLowerCase(), stranger.toLowerCase());
    assert.equal((await client.getTransaction({ hash })).from.toLowerCase(), stranger.toLowerCase());
    await each.stopImpersonatingAccount({ address: stranger });
    await assert.rejects(client.sendTransaction({ account: stranger, to: recipient, value: 1n }));
  });
}

test("blocks are replaced", async () => {
  await client.sendTransaction({ account: creator, to: recipient, value: 1n });
  const { hash, number } = await client.getBlock();
  const { dropped, added } = await client.request({ method: "wsnode_reorg", params: [{ depth: 1 }] });
  assert.deepEqual(dropped, [{ number: `0x${number.toString(16)}`, hash }]);
  assert.equal((await client.getBlock()).hash, added[0].hash);
  await client.mine({ blocks: 1 });
  assert.equal((await client.getTxpoolStatus()).pending, 0);
});
