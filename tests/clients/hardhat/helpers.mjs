/** All of Hardhat's network helpers: `node helpers.mjs HTTP-URL [WEBSOCKET-URL]`. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { AbiCoder, ZeroAddress, parseEther, toBeHex } from "ethers";
import { deployProbe, ethers, helpersClass, networkHelpers as helpers, request } from "./connection.mjs";

const { NetworkHelpers, Time, Duration } = await helpersClass();
const { provider } = ethers;
const [owner, other] = await ethers.getSigners();
const stranger = "0x00000000000000000000000000000000000000AA";
const tried = new Set();
let probe;
let beginning;

before(async () => {
  probe = await deployProbe(owner);
});

const head = () => provider.getBlock("latest");
const send = (method, ...params) => request({ method, params });

/** A test that leaves the chain as it was, of a helper by its name. */
function helper(name, run) {
  tried.add(name);
  test(name, async () => {
    beginning = await send("evm_snapshot");
    try {
      await run();
    } finally {
      await send("evm_setAutomine", true);
      await send("evm_revert", beginning);
    }
  });
}

helper("throwIfNotDevelopmentNetwork", async () => {
  await new NetworkHelpers({ provider: { request }, networkName: "development" }).throwIfNotDevelopmentNetwork();
  const served = { provider: { request: async () => "wsnode/v0.1.0" }, networkName: "served" };
  await assert.rejects(new NetworkHelpers(served).throwIfNotDevelopmentNetwork(), /HHE60015/);
});

helper("mine", async () => {
  const { number, timestamp } = await head();
  await helpers.mine();
  await helpers.mine(3, { interval: 60 });
  const mined = await head();
  assert.equal(mined.number, number + 4);
  assert.ok(mined.timestamp >= timestamp + 180);
  // Too many to wait for one by one.
  await helpers.mine(256);
  assert.equal((await head()).number, number + 260);
});

helper("mineUpTo", async () => {
  const { number } = await head();
  await helpers.mineUpTo(number + 7);
  assert.equal((await head()).number, number + 7);
  await assert.rejects(helpers.mineUpTo(number));
});

helper("setBalance", async () => {
  await helpers.setBalance(stranger, parseEther("7"));
  assert.equal(await provider.getBalance(stranger), parseEther("7"));
  await helpers.setBalance(stranger, 0);
  assert.equal(await provider.getBalance(stranger), 0n);
});

helper("setBlockGasLimit", async () => {
  await helpers.setBlockGasLimit(12_345_678);
  await helpers.mine(2);
  assert.equal((await head()).gasLimit, 12_345_678n);
});

helper("setCode", async () => {
  await helpers.setCode(stranger, "0x602a5f5260205ff3");
  assert.equal(await provider.getCode(stranger), "0x602a5f5260205ff3");
  assert.equal(BigInt(await provider.call({ to: stranger })), 42n);
});

helper("setCoinbase", async () => {
  await helpers.setCoinbase(stranger);
  await (await owner.sendTransaction({ to: other.address, value: 1n })).wait();
  assert.equal((await head()).miner, stranger);
  assert.ok((await provider.getBalance(stranger)) > 0n);
  await helpers.setCoinbase(ZeroAddress);
});

helper("setNextBlockBaseFeePerGas", async () => {
  await helpers.setNextBlockBaseFeePerGas(123_456_789_000n);
  await helpers.mine();
  assert.equal((await head()).baseFeePerGas, 123_456_789_000n);
});

helper("setNonce", async () => {
  await helpers.setNonce(stranger, 77);
  assert.equal(await provider.getTransactionCount(stranger), 77);
});

helper("setPrevRandao", async () => {
  await helpers.setPrevRandao(0xbeef);
  await helpers.mine();
  assert.equal((await probe.surroundings())[0], 0xbeefn);
  assert.equal(BigInt((await send("eth_getBlockByNumber", "latest", false)).mixHash), 0xbeefn);
});

helper("setStorageAt", async () => {
  await helpers.setStorageAt(await probe.getAddress(), 0, 4711);
  assert.equal(await probe.value(), 4711n);
});

helper("getStorageAt", async () => {
  const address = await probe.getAddress();
  await (await probe.store(5, "five")).wait();
  const { number } = await head();
  await (await probe.store(6, "six")).wait();
  assert.equal(await helpers.getStorageAt(address, 0), toBeHex(6, 32));
  assert.equal(await helpers.getStorageAt(address, 0, number), toBeHex(5, 32));
  assert.equal(await helpers.getStorageAt(address, 99n), toBeHex(0, 32));
});

helper("impersonateAccount", async () => {
  await helpers.setBalance(stranger, parseEther("1"));
  await helpers.impersonateAccount(stranger);
  const hash = await send("eth_sendTransaction", { from: stranger, to: other.address, value: "0x1" });
  const receipt = await provider.waitForTransaction(hash);
  assert.deepEqual([receipt.from, receipt.status], [stranger, 1]);
  await helpers.stopImpersonatingAccount(stranger);
});

helper("stopImpersonatingAccount", async () => {
  await helpers.setBalance(stranger, parseEther("1"));
  await helpers.impersonateAccount(stranger);
  await helpers.stopImpersonatingAccount(stranger);
  await assert.rejects(send("eth_sendTransaction", { from: stranger, to: other.address, value: "0x1" }), /unknown account/);
});

helper("dropTransaction", async () => {
  await send("evm_setAutomine", false);
  const { hash } = await owner.sendTransaction({ to: other.address, value: 1n });
  assert.equal(await helpers.dropTransaction(hash), true);
  assert.equal(await helpers.dropTransaction(hash), false);
  await helpers.mine();
  assert.equal(await provider.getTransactionReceipt(hash), null);
});

helper("takeSnapshot", async () => {
  const before = await head();
  const snapshot = await helpers.takeSnapshot();
  for (let round = 0; round < 2; round += 1) {
    await (await probe.store(round + 10, "later")).wait();
    await helpers.mine(3);
    await snapshot.restore();
    assert.deepEqual([(await head()).hash, await probe.value()], [before.hash, 0n]);
  }
});

helper("loadFixture", async () => {
  let runs = 0;
  async function stored() {
    runs += 1;
    await (await probe.store(21, "fixture")).wait();
    return { runs };
  }
  async function storedMore() {
    const first = await helpers.loadFixture(stored);
    await (await probe.store(22, "more")).wait();
    return first;
  }
  for (let round = 0; round < 3; round += 1) {
    assert.deepEqual(await helpers.loadFixture(stored), { runs: 1 });
    assert.equal(await probe.value(), 21n);
    assert.deepEqual(await helpers.loadFixture(storedMore), { runs: 1 });
    assert.equal(await probe.value(), 22n);
    await (await probe.store(23, "changed")).wait();
  }
  await assert.rejects(helpers.loadFixture(async () => 0), /HHE6001/);
});

helper("clearSnapshots", async () => {
  let runs = 0;
  async function counted() {
    runs += 1;
  }
  await helpers.loadFixture(counted);
  helpers.clearSnapshots();
  await helpers.loadFixture(counted);
  assert.equal(runs, 2);
});

helper("time.latest", async () => {
  assert.equal(await helpers.time.latest(), (await head()).timestamp);
});

helper("time.latestBlock", async () => {
  assert.equal(await helpers.time.latestBlock(), (await head()).number);
});

helper("time.increase", async () => {
  const { number, timestamp } = await head();
  const mined = await helpers.time.increase(3600);
  assert.equal(mined, timestamp + 3600);
  assert.deepEqual([(await head()).number, (await head()).timestamp], [number + 1, mined]);
});

helper("time.increaseTo", async () => {
  const wanted = (await head()).timestamp + 10_000;
  await helpers.time.increaseTo(wanted);
  assert.equal((await head()).timestamp, wanted);
  await helpers.time.increaseTo(new Date((wanted + 500) * 1000));
  assert.equal((await head()).timestamp, wanted + 500);
  await assert.rejects(helpers.time.increaseTo(wanted));
});

helper("time.setNextBlockTimestamp", async () => {
  const { number, timestamp } = await head();
  await helpers.time.setNextBlockTimestamp(timestamp + 12_345);
  assert.equal((await head()).number, number);
  await (await probe.store(1, "at that time")).wait();
  assert.deepEqual([(await head()).number, (await head()).timestamp], [number + 1, timestamp + 12_345]);
});

helper("time.duration", async () => {
  const { duration } = helpers.time;
  const units = { years: 31_536_000, weeks: 604_800, days: 86_400, hours: 3600, minutes: 60, seconds: 1 };
  for (const [unit, seconds] of Object.entries(units)) {
    assert.equal(duration[unit](2), 2 * seconds);
  }
  assert.equal(duration.millis(2000), 2);
  assert.deepEqual(methods(Duration).sort(), [...Object.keys(units), "millis"].sort());
  const before = await helpers.time.latest();
  assert.equal(await helpers.time.increase(duration.weeks(3)), before + 3 * units.weeks);
});

test("there is no other helper", () => {
  const all = [...methods(NetworkHelpers), ...methods(Time).map((name) => `time.${name}`), "time.duration"];
  assert.deepEqual([...tried].sort(), all.sort());
});

function methods({ prototype }) {
  return Object.getOwnPropertyNames(prototype).filter((name) => name !== "constructor");
}
