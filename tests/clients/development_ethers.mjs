/** ethers' signers against a development chain: `node development_ethers.mjs URL`. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { JsonRpcProvider, Wallet, WebSocketProvider, parseEther, toQuantity, verifyMessage, verifyTypedData } from "ethers";
import { url } from "./demo.mjs";

// Otherwise it takes an answer for the next one to the same question for a quarter of a second.
const options = { cacheTimeout: -1 };
const provider = url.startsWith("ws")
  ? new WebSocketProvider(url, undefined, options)
  : new JsonRpcProvider(url, undefined, options);
const stranger = "0x0000000000000000000000000000000000003333";

after(() => provider.destroy());

test("the node's accounts send and sign", async () => {
  const signer = await provider.getSigner(0);
  const [recipient] = (await provider.listAccounts()).slice(1);
  const before = await provider.getBalance(recipient);
  const sent = await signer.sendTransaction({ to: recipient, value: 5n });
  const receipt = await sent.wait();
  assert.equal(receipt.status, 1);
  assert.equal((await provider.getBalance(recipient)) - before, 5n);
  assert.equal(verifyMessage("hello", await signer.signMessage("hello")), signer.address);
  const told = [{ chainId: 31337n }, { Order: [{ name: "amount", type: "int256[]" }] }, { amount: [-1n, 2n ** 90n] }];
  assert.equal(verifyTypedData(...told, await signer.signTypedData(...told)), signer.address);
});

test("a wallet's transactions are mined one by one", async () => {
  const wallet = new Wallet("0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a", provider);
  for (let value = 1n; value <= 3n; value += 1n) {
    const receipt = await (await wallet.sendTransaction({ to: stranger, value })).wait();
    assert.equal(receipt.status, 1);
  }
  assert.equal(await provider.getBalance(stranger), 6n);
});

test("an impersonated account is a signer", async () => {
  await provider.send("hardhat_setBalance", [stranger, toQuantity(parseEther("1"))]);
  await provider.send("hardhat_impersonateAccount", [stranger]);
  const signer = await provider.getSigner(stranger);
  const receipt = await (await signer.sendTransaction({ to: await provider.getSigner(0), value: 1n })).wait();
  assert.equal(receipt.from.toLowerCase(), stranger);
  await provider.send("hardhat_stopImpersonatingAccount", [stranger]);
});

test("a snapshot is gone back to", async () => {
  const id = await provider.send("evm_snapshot", []);
  const block = await provider.send("eth_blockNumber", []);
  await provider.send("hardhat_mine", ["0x10", "0x3c"]);
  assert.equal(await provider.send("evm_revert", [id]), true);
  assert.equal(await provider.send("eth_blockNumber", []), block);
});
