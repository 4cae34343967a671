/** A bot as viem's documentation has it: `node bot_viem.mjs URL EMITTER`. */
import { createPublicClient, parseAbi, webSocket } from "viem";
import { emitter, say, url } from "./said.mjs";

const transport = webSocket(url);
const client = createPublicClient({ transport });
const abi = parseAbi(["event Note(uint256 indexed number)"]);
const onError = (error) => say({ error: error.shortMessage ?? error.message, kind: error.name });
const onLogs = (kind) => (logs) =>
  logs.forEach(({ args, blockHash, logIndex, removed }) => say({ [kind]: [blockHash, logIndex, removed, args.number] }));

client.watchContractEvent({ address: emitter, abi, eventName: "Note", onLogs: onLogs("log"), onError });
client.watchEvent({ address: emitter, event: abi[0], args: { number: 1n }, onLogs: onLogs("rare"), onError });
client.watchBlockNumber({ onBlockNumber: (number) => say({ head: number }), onError });
client.watchBlocks({ onBlock: (block) => say({ block: block?.number }), onError });
client.watchPendingTransactions({ onTransactions: (hashes) => hashes.forEach((hash) => say({ pending: hash })), onError });
