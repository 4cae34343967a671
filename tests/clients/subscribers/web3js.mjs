/** web3.js subscribes as its documentation shows, to logs from the first block on: `node web3js.mjs URL EMITTER`. */
import { Web3, WebSocketProvider } from "web3";
import { emitter, say, url } from "./said.mjs";

// It connects again after five seconds if nothing else is said.
const web3 = new Web3(new WebSocketProvider(url, {}, { delay: 200 }));
web3.provider.on("disconnect", (event) => say({ closed: event?.code }));
web3.provider.on("error", (error) => say({ error: error?.message }));

/** Prints what a subscription hands on. */
async function watch(kind, name, filter, read) {
  const subscription = await web3.eth.subscribe(name, filter);
  subscription.on("data", (value) => say({ [kind]: read(value) }));
  subscription.on("error", (error) => say({ error: error.message }));
}

await watch("head", "newBlockHeaders", undefined, (header) => header?.number);
await watch("log", "logs", { address: emitter, fromBlock: "0x0" }, (log) => [log?.blockNumber, log?.logIndex]);
await watch("pending", "pendingTransactions", undefined, (hash) => hash);
