// Watches a growing chain through starknet.js: node starknet_js_heads.mjs WS_URL FIRST_BLOCK COUNT; prints the headers.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const modules = process.env.WSNODE_STARKNET_JS ?? import.meta.dirname;
const load = createRequire(pathToFileURL(`${modules}/package.json`));
globalThis.WebSocket ??= load("ws");
const { WebSocketChannel } = load("starknet");
const [wsUrl, first, count] = process.argv.slice(2);

const channel = new WebSocketChannel({ nodeUrl: wsUrl });
await channel.waitForConnection();
const live = await channel.subscribeNewHeads();
const whole = await channel.subscribeNewHeads({ blockIdentifier: Number(first) });
const told = { live: [], whole: [] };
await new Promise((resolve) => {
  const take = (kind) => (header) => {
    told[kind].push(header);
    const isShared = told.whole.at(-1)?.block_number >= told.live[0]?.block_number;
    if (isShared && told.whole.length >= Number(count)) resolve();
  };
  live.on(take("live"));
  whole.on(take("whole"));
});
told.unsubscribed = [await live.unsubscribe(), await whole.unsubscribe()];
channel.disconnect();
process.stdout.write(JSON.stringify(told), () => process.exit(0));
