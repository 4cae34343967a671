/** All of Hardhat's chai matchers for ethers: `node matchers.mjs HTTP-URL [WEBSOCKET-URL]`. */
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { PANIC_CODES } from "@nomicfoundation/hardhat-ethers-chai-matchers/panic";
import { anyUint, anyValue } from "@nomicfoundation/hardhat-ethers-chai-matchers/withArgs";
import { Assertion, expect } from "chai";
import { deployProbe, ethers, plainAssertions, request } from "./connection.mjs";

const [owner, other, third] = await ethers.getSigners();
const options = { gasLimit: 200_000n };
const tried = new Set(["equals", "equal", "eq", "withArgs"]);
/** What chai-as-promised adds, which comes with Hardhat's matchers. */
const promised = new Set(["become", "eventually", "fulfilled", "notify", "rejected", "rejectedWith"]);
let probe;

before(async () => {
  probe = await deployProbe(owner);
});

/** A test of matchers by their names. */
function matcher(names, run) {
  names.split(" ").forEach((name) => tried.add(name));
  test(names, run);
}

/** That an assertion fails, as it must of what is not so. */
const fails = (assertion) => assert.rejects(async () => assertion(), { name: "AssertionError" });

/** A transaction that is in a block and failed there, which an estimate of its gas would have refused. */
const failed = (method, ...args) => probe[method](...args, options);

matcher("emit", async () => {
  await expect(probe.emitMany(2)).to.emit(probe, "Nothing");
  await expect(probe.emitMany(2)).to.emit(probe, "Nothing").and.to.emit(probe, "Named");
  await expect(probe.emitMany(2)).to.not.emit(probe, "Transfer");
  const sent = await probe.store(1, "one");
  await expect(sent).to.emit(probe, "Stored").withArgs(owner.address, 1n, "one");
  await expect(sent.hash).to.emit(probe, "Stored").withArgs(owner, 1, anyValue);
  await expect(sent).to.emit(probe, "Stored").withArgs(anyValue, anyUint, (text) => text.length === 3);
  await expect(probe.emitMany(3)).to.emit(probe, "Stored").withArgs(owner, 2, "many");
  await expect(probe.emitMany(0)).to.emit(probe, "Named").withArgs("probe", [`0x${"00".repeat(32)}`, `0x${"07".padStart(64, "0")}`]);
  await fails(() => expect(sent).to.emit(probe, "Stored").withArgs(owner.address, 2n, "one"));
  await fails(() => expect(sent).to.emit(probe, "Nothing"));
  await fails(() => expect(sent).to.not.emit(probe, "Stored"));
});

for (const [kind, sending] of [
  ["when its gas is estimated", (method, ...args) => probe[method](...args)],
  ["when it is called", (method, ...args) => probe[method].staticCall(...args)],
  ["in a block", failed],
]) {
  matcher("revert", async () => {
    for (const name of ["revertWithout", "revertPlain", "failAssert", "stop"]) {
      await expect(sending(name), `${name} ${kind}`).to.revert(ethers);
    }
    await expect(sending("revertWith", "reason")).to.revert(ethers);
    await expect(sending("store", 1, "one")).to.not.revert(ethers);
    await fails(() => expect(sending("store", 1, "one")).to.revert(ethers));
    await fails(() => expect(sending("revertWithout")).to.not.revert(ethers));
  });

  matcher("revertedWith", async () => {
    await expect(sending("revertWith", "some reason")).to.be.revertedWith("some reason");
    await expect(sending("revertWith", "some reason")).to.be.revertedWith(/so.e/);
    await expect(sending("revertWith", "some reason")).to.not.be.revertedWith("another");
    await expect(sending("revertPlain")).to.not.be.revertedWith("some reason");
    await fails(() => expect(sending("revertWith", "some reason")).to.be.revertedWith("another"));
    await fails(() => expect(sending("revertWithout")).to.be.revertedWith("some reason"));
  });

  matcher("revertedWithCustomError", async () => {
    await expect(sending("revertPlain")).to.be.revertedWithCustomError(probe, "Plain");
    await expect(sending("revertDetailed", 5, "text")).to.be.revertedWithCustomError(probe, "Detailed").withArgs(5, "text", owner);
    await expect(sending("revertDetailed", 5, "text")).to.be.revertedWithCustomError(probe, "Detailed").withArgs(anyUint, anyValue, owner.address);
    await expect(sending("revertDetailed", 5, "text")).to.not.be.revertedWithCustomError(probe, "Plain");
    await fails(() => expect(sending("revertDetailed", 5, "text")).to.be.revertedWithCustomError(probe, "Detailed").withArgs(6, "text", owner));
    await fails(() => expect(sending("revertWith", "reason")).to.be.revertedWithCustomError(probe, "Plain"));
  });

  matcher("revertedWithPanic", async () => {
    await expect(sending("failAssert")).to.be.revertedWithPanic(PANIC_CODES.ASSERTION_ERROR);
    await expect(sending("overflow")).to.be.revertedWithPanic(0x11);
    await expect(sending("divide", 0)).to.be.revertedWithPanic(PANIC_CODES.DIVISION_BY_ZERO);
    await expect(sending("divide", 0)).to.be.revertedWithPanic();
    await expect(sending("divide", 0)).to.not.be.revertedWithPanic(0x11);
    await fails(() => expect(sending("divide", 0)).to.be.revertedWithPanic(0x11));
    await fails(() => expect(sending("revertWithout")).to.be.revertedWithPanic());
  });

  matcher("revertedWithoutReason", async () => {
    await expect(sending("revertWithout")).to.be.revertedWithoutReason();
    await expect(sending("revertWith", "reason")).to.not.be.revertedWithoutReason();
    await fails(() => expect(sending("revertPlain")).to.be.revertedWithoutReason());
  });
}

matcher("reverted", async () => {
  // Left over from Hardhat 2: it only says what took its place.
  assert.throws(() => expect(probe.revertWithout.staticCall().catch(() => 0)).to.be.reverted, /HHE70028|\.revert\(ethers\)/);
});

matcher("changeEtherBalance", async () => {
  const sending = () => owner.sendTransaction({ to: third.address, value: 200n });
  await expect(sending).to.changeEtherBalance(ethers, third, 200n);
  await expect(sending()).to.changeEtherBalance(ethers, owner.address, "-200");
  await expect(sending).to.changeEtherBalance(ethers, owner, (change) => change < -200n, { includeFee: true });
  await expect(() => probe.pay(third.address, 30n)).to.changeEtherBalance(ethers, probe, -30n);
  await expect(sending).to.not.changeEtherBalance(ethers, third, 201n);
  await fails(() => expect(sending).to.changeEtherBalance(ethers, third, 201n));
});

matcher("changeEtherBalances", async () => {
  const sending = () => owner.sendTransaction({ to: third.address, value: 7n });
  await expect(sending).to.changeEtherBalances(ethers, [owner, third, other.address], [-7n, 7n, 0n]);
  await expect(sending).to.changeEtherBalances(ethers, [third], (changes) => changes[0] === 7n);
  await fails(() => expect(sending).to.changeEtherBalances(ethers, [owner, third], [-7n, 8n]));
});

matcher("changeTokenBalance", async () => {
  await (await probe.mint(owner.address, 1000n)).wait();
  const sending = () => probe.transfer(third.address, 3n);
  await expect(sending).to.changeTokenBalance(ethers, probe, third, 3n);
  await expect(sending()).to.changeTokenBalance(ethers, probe, owner.address, -3n);
  await expect(sending).to.changeTokenBalance(ethers, probe, third, (change) => change === 3n);
  await fails(() => expect(sending).to.changeTokenBalance(ethers, probe, third, 4n));
});

matcher("changeTokenBalances", async () => {
  await (await probe.mint(owner.address, 1000n)).wait();
  const sending = () => probe.transfer(third.address, 3n);
  await expect(sending).to.changeTokenBalances(ethers, probe, [owner, third, other], [-3n, 3n, 0n]);
  await expect(sending).to.changeTokenBalances(ethers, probe, [third], ([change]) => change === 3n);
  await fails(() => expect(sending).to.changeTokenBalances(ethers, probe, [owner, third], [-3n, 4n]));
});

matcher("above gt greaterThan below lt lessThan least gte greaterThanOrEqual most lte lessThanOrEqual within closeTo approximately", async () => {
  await (await probe.store(100, "hundred")).wait();
  const value = await probe.value();
  expect(value).to.equal(100);
  expect(value).to.eq(100n);
  expect(value).to.equals("100");
  for (const name of ["above", "gt", "greaterThan"]) expect(value).to.be[name](99);
  for (const name of ["below", "lt", "lessThan"]) expect(value).to.be[name](101n);
  for (const name of ["least", "gte", "greaterThanOrEqual"]) expect(value).to.be.at[name](100);
  for (const name of ["most", "lte", "lessThanOrEqual"]) expect(value).to.be.at[name](100);
  expect(value).to.be.within(99, 101n);
  expect(value).to.be.closeTo(95, 5);
  expect(value).to.be.approximately(105n, 5);
  assert.throws(() => expect(value).to.equal(101));
  assert.throws(() => expect(value).to.be.above(100));
  // Signers and contracts stand for their addresses.
  expect(owner.address).to.equal(owner);
  expect(probe).to.equal(await probe.getAddress());
  expect(owner).to.not.equal(other);
});

matcher("properAddress properPrivateKey properHex hexEqual", async () => {
  const sent = await probe.store(1, "one");
  expect(await probe.getAddress()).to.be.properAddress;
  expect(sent.from).to.be.properAddress;
  expect(sent.hash).to.be.properPrivateKey;
  expect(sent.hash).to.be.properHex(64);
  const [word] = [await request({ method: "eth_getStorageAt", params: [await probe.getAddress(), "0x0", "latest"] })];
  expect(word).to.hexEqual("0x1");
  assert.throws(() => expect(word).to.hexEqual("0x2"));
  assert.throws(() => expect("0x12").to.be.properAddress);
});

test("there is no other matcher", () => {
  const added = Object.getOwnPropertyNames(Assertion.prototype).filter((name) => !plainAssertions.has(name) && !promised.has(name));
  assert.deepEqual(added.sort(), [...tried].filter((name) => !plainAssertions.has(name)).sort());
});
