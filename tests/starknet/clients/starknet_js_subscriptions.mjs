// Subscribes to everything through starknet.js: node starknet_js_subscriptions.mjs WS_URL TRANSACTION_HASH LAST_BLOCK.
// Prints a line once it has subscribed, and what it has been sent up to a block with that number as one JSON object.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const modules = process.env.WSNODE_STARKNET_JS ?? import.meta.dirname;
const load = createRequire(pathToFileURL(`${modules}/package.json`));
globalThis.WebSocket ??= load("ws");
const { WebSocketChannel } = load("starknet");
const [wsUrl, transactionHash, lastBlock] = process.argv.slice(2);

const channel = new WebSocketChannel({ nodeUrl: wsUrl });
await channel.waitForConnection();
const subscriptions = {
  heads: await channel.subscribeNewHeads(),
  events: await channel.subscribeEvents(),
  transactions: await channel.subscribeNewTransactions(),
  receipts: await channel.subscribeNewTransactionReceipts(),
  statuses: await channel.subscribeTransactionStatus({ transactionHash }),
};
const answers = Object.fromEntries(Object.keys(subscriptions).map((kind) => [kind, []]));
const hasAll = () => {
  const head = answers.heads.at(-1);
  if (head?.block_number !== Number(lastBlock)) return false;
  const isOfHead = (item) => item.block_hash === head.block_hash;
  const transactions = answers.transactions.at(-1)?.transaction_hash;
  const receipts = answers.receipts.filter(isOfHead);
  return (
    receipts.length === head.transaction_count &&
    receipts.at(-1)?.transaction_hash === transactions &&
    answers.events.filter(isOfHead).length === head.event_count &&
    answers.statuses.length > 0
  );
};
await new Promise((resolve) => {
  for (const [kind, subscription] of Object.entries(subscriptions)) {
    subscription.on((item) => {
      answers[kind].push(item);
      if (hasAll()) resolve();
    });
  }
  process.stdout.write("subscribed\n");
});
answers.unsubscribed = [];
for (const subscription of Object.values(subscriptions)) answers.unsubscribed.push(await subscription.unsubscribe());
channel.disconnect();
const plain = (_, value) => (typeof value === "bigint" ? `0x${value.toString(16)}` : value);
process.stdout.write(JSON.stringify(answers, plain), () => process.exit(0));
