// Asks a node for a block and its transactions through starknet.js, in a version of the specification:
// node starknet_js_blocks.mjs URL NUMBER VERSION; prints one JSON object.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const modules = process.env.WSNODE_STARKNET_JS ?? import.meta.dirname;
const load = createRequire(pathToFileURL(`${modules}/package.json`));
const { RpcProvider } = load("starknet");
const [url, text, specVersion] = process.argv.slice(2);
const number = Number(text);

const provider = new RpcProvider({ nodeUrl: url, specVersion });
const hashes = await provider.getBlockWithTxHashes(number);
const each = (ask) => Promise.all(hashes.transactions.map(ask));
const answers = {
  hashes,
  transactions: await provider.getBlockWithTxs(number),
  receipts: await provider.getBlockWithReceipts(number),
  version: await provider.getSpecVersion(),
  count: await provider.getBlockTransactionCount(number),
  byHash: await each((hash) => provider.getTransactionByHash(hash)),
  byIndex: await each((_, index) => provider.getTransactionByBlockIdAndIndex(number, index)),
  statuses: await each((hash) => provider.getTransactionStatus(hash)),
  succeeded: (await each((hash) => provider.getTransactionReceipt(hash))).map((receipt) => receipt.isSuccess()),
  page: await provider.getEvents({
    from_block: { block_number: number },
    to_block: { block_number: number },
    chunk_size: 5,
  }),
};
try {
  await provider.getTransactionByHash("0x1");
} catch (error) {
  answers.refused = error.baseError?.code ?? error.message;
}
const plain = (_, value) => (typeof value === "bigint" ? `0x${value.toString(16)}` : value);
process.stdout.write(JSON.stringify(answers, plain), () => process.exit(0));
