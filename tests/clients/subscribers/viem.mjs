/** viem watches over a WebSocket as its documentation shows: `node viem.mjs URL EMITTER`. */
import { createPublicClient, webSocket } from "viem";
import { emitter, say, url } from "./said.mjs";

const client = createPublicClient({ transport: webSocket(url) });
const onError = (error) => say({ error: error.shortMessage ?? error.message });
client.watchBlocks({ onBlock: (block) => say({ head: block?.number }), onError });
client.watchEvent({
  address: emitter,
  onLogs: (logs) => logs.forEach((log) => say({ log: [log?.blockNumber, log?.logIndex] })),
  onError,
});
client.watchPendingTransactions({ onTransactions: (hashes) => hashes.forEach((hash) => say({ pending: hash })), onError });
