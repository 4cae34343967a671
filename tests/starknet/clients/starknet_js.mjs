// Asks a node through starknet.js: node starknet_js.mjs HTTP_URL WS_URL ADDRESS KEY CLASS_HASH; prints one JSON object.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const modules = process.env.WSNODE_STARKNET_JS ?? import.meta.dirname;
const load = createRequire(pathToFileURL(`${modules}/package.json`));
// Node 22 has a WebSocket of its own; the one that Node 20 hides behind a flag refuses every server's compression.
globalThis.WebSocket ??= load("ws");
const { RpcProvider, WebSocketChannel } = load("starknet");
const WRITTEN_IN_9 = "0x6f3c934ba4ec49245cb9a42fc715e4d589aa502af69be13916127a538d525ce";
const [httpUrl, wsUrl, address, key, classHash] = process.argv.slice(2);

const provider = new RpcProvider({ nodeUrl: httpUrl });
const answers = {
  chainId: await provider.getChainId(),
  specVersion: await provider.getSpecVersion(),
  blockNumber: await provider.getBlockNumber(),
  latest: await provider.getBlockLatestAccepted(),
  classHashAt: await provider.getClassHashAt(address, 9),
  classAt: await provider.getClassAt(address, "latest"),
  classByHash: await provider.getClassByHash(classHash),
  storageAt: await provider.getStorageAt(address, key, "latest"),
  lastWrite: await provider.getStorageAt(WRITTEN_IN_9, "0x5", "latest", ["INCLUDE_LAST_UPDATE_BLOCK"]),
  nonce: await provider.getNonceForAddress(address, "latest"),
  stateUpdate: await provider.getStateUpdate(9),
  pending: await provider.getStateUpdate("pre_confirmed"),
};
try {
  await provider.getClassHashAt("0x5", "latest");
} catch (error) {
  answers.refused = error.baseError?.code ?? error.message;
}

const channel = new WebSocketChannel({ nodeUrl: wsUrl });
await channel.waitForConnection();
const block = { block_id: { block_number: 9 } };
answers.overWebSocket = await channel.sendReceive("starknet_getStateUpdate", block);
const contract = { block_id: "latest", contract_address: address };
answers.classOverWebSocket = await channel.sendReceive("starknet_getClassAt", contract);
channel.disconnect();
const text = (_, value) => (typeof value === "bigint" ? `0x${value.toString(16)}` : value);
process.stdout.write(JSON.stringify(answers, text), () => process.exit(0));
