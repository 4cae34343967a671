/** What a wallet in a browser sends while it adds the network, with plain fetch: `node wallet.mjs URL`. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { demo, numbers, url } from "./demo.mjs";

// MetaMask's, in Chromium.
const Origin = "chrome-extension://nkbihfbeogaeaoehlefnkodbefgpgknn";
let identifier = 0;

async function post(body) {
  const headers = { "Content-Type": "application/json", Origin };
  const reply = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  assert.equal(reply.status, 200);
  assert.equal(reply.headers.get("Access-Control-Allow-Origin"), Origin);
  assert.match(reply.headers.get("Content-Type"), /^application\/json/);
  return reply.json();
}

async function call(method, ...params) {
  identifier += 1;
  const reply = await post({ jsonrpc: "2.0", id: identifier, method, params });
  assert.deepEqual([reply.jsonrpc, reply.id], ["2.0", identifier]);
  assert.equal(reply.error, undefined, `${method}: ${JSON.stringify(reply.error)}`);
  return reply.result;
}

test("the preflight of a page allows a JSON body", async () => {
  const asked = { "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type" };
  const reply = await fetch(url, { method: "OPTIONS", headers: { Origin, ...asked } });
  assert.ok(reply.ok);
  assert.equal(reply.headers.get("Access-Control-Allow-Origin"), Origin);
  assert.match(reply.headers.get("Access-Control-Allow-Methods"), /\bPOST\b/);
  assert.match(reply.headers.get("Access-Control-Allow-Headers"), /\bcontent-type\b/i);
});

test("a page from elsewhere is refused", async () => {
  const headers = { "Content-Type": "application/json", Origin: "https://evil.example" };
  const reply = await fetch(url, { method: "POST", headers, body: "[]" });
  assert.equal(reply.status, 403);
});

test("the network is added: chain id, network id, head and fees", async () => {
  assert.equal(Number(await call("eth_chainId")), demo.chainId);
  assert.equal(await call("net_version"), String(demo.chainId));
  const head = await call("eth_blockNumber");
  const block = await call("eth_getBlockByNumber", head, false);
  assert.equal(block.number, head);
  assert.ok(BigInt(block.baseFeePerGas) > 0n);
  assert.ok(BigInt(await call("eth_gasPrice")) > BigInt(block.baseFeePerGas));
  const history = await call("eth_feeHistory", 5, "latest", [10, 20, 30]);
  assert.equal(history.baseFeePerGas.length, 6);
  assert.deepEqual(history.reward.map(({ length }) => length), [3, 3, 3, 3, 3]);
});

test("the account's view is filled: balance, nonce, token and code", async () => {
  assert.ok(BigInt(await call("eth_getBalance", demo.holder, "latest")) > 0n);
  assert.ok(Number(await call("eth_getTransactionCount", demo.holder, "pending")) > 0);
  assert.equal(await call("eth_getCode", demo.holder, "latest"), "0x");
  const data = `0x70a08231${demo.holder.slice(2).toLowerCase().padStart(64, "0")}`;
  assert.ok(BigInt(await call("eth_call", { to: demo.token, data }, "latest")) > 0n);
});

test("a batch is answered item by item", async () => {
  const replies = await post(numbers(1, 20).map((id) => ({ jsonrpc: "2.0", id, method: "eth_chainId" })));
  assert.deepEqual(replies.map(({ id }) => id), numbers(1, 20));
});

test("an error can be read by the page as well", async () => {
  const { error } = await post({ jsonrpc: "2.0", id: 1, method: "wallet_noSuchMethod", params: [] });
  assert.equal(error.code, -32601);
});
