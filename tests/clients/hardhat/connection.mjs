/**
 * Hardhat 3 beside a node: `node SCRIPT HTTP-URL [WEBSOCKET-URL]`. Hardhat's own networks are HTTP; with a second URL
 * the very helpers and matchers work over a WebSocket of ethers.
 */
import { readFile, realpath } from "node:fs/promises";
import { after } from "node:test";
import { pathToFileURL } from "node:url";
import ethersPlugin from "@nomicfoundation/hardhat-ethers";
import matchersPlugin from "@nomicfoundation/hardhat-ethers-chai-matchers";
import helpersPlugin from "@nomicfoundation/hardhat-network-helpers";
import { Assertion } from "chai";
import { ContractFactory, WebSocketProvider } from "ethers";
import { createHardhatRuntimeEnvironment } from "hardhat/hre";

const [httpUrl, socketUrl] = process.argv.slice(2);

const runtime = await createHardhatRuntimeEnvironment({
  plugins: [ethersPlugin, helpersPlugin, matchersPlugin],
  networks: { wsnode: { type: "http", url: httpUrl } },
});
/** What chai has without Hardhat, whose matchers come with the first connection. */
export const plainAssertions = new Set(Object.getOwnPropertyNames(Assertion.prototype));
const connection = await runtime.network.connect("wsnode");

/** The class of the helpers, which the package keeps to itself. */
export async function helpersClass() {
  const inside = "node_modules/@nomicfoundation/hardhat-network-helpers/dist/src/internal/network-helpers";
  const folder = await realpath(new URL(inside, import.meta.url));
  const [{ NetworkHelpers }, { Time }, { Duration }] = await Promise.all(
    ["network-helpers.js", "time/time.js", "duration/duration.js"].map((file) => import(pathToFileURL(`${folder}/${file}`))),
  );
  return { NetworkHelpers, Time, Duration };
}

async function overSocket() {
  await connection.close();
  // Otherwise it takes an answer for the next one to the same question for a quarter of a second.
  const provider = new WebSocketProvider(socketUrl, undefined, { cacheTimeout: -1 });
  after(() => provider.destroy());
  const request = ({ method, params }) => provider.send(method, params ?? []);
  const { NetworkHelpers } = await helpersClass();
  const networkHelpers = new NetworkHelpers({ provider: { request }, networkName: "socket" });
  const getSigners = async () => Promise.all((await provider.listAccounts()).slice(0, 4).map(({ address }) => provider.getSigner(address)));
  return { ethers: { provider, getSigners }, networkHelpers, request };
}

async function overHttp() {
  after(() => connection.close());
  const request = (question) => connection.provider.request(question);
  return { ethers: connection.ethers, networkHelpers: connection.networkHelpers, request };
}

export const { ethers, networkHelpers, request } = await (socketUrl === undefined ? overHttp() : overSocket());

/** Deploy the contract of the tests with some ether in it. */
export async function deployProbe(signer) {
  const { abi, bytecode } = JSON.parse(await readFile(new URL("Probe.json", import.meta.url)));
  const probe = await new ContractFactory(abi, bytecode, signer).deploy({ value: 10n ** 18n });
  return probe.waitForDeployment();
}
