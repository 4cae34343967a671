/** Calls whose replies are lost: `node calls_viem.mjs URL SENDER TRANSACTION`. */
import { createPublicClient, webSocket } from "viem";
import { emitter as sender, say, url } from "./said.mjs";

const transport = webSocket(url);
const client = createPublicClient({ transport });
const signed = process.argv[4];

say({ balance: String(await client.getBalance({ address: sender })) });
say({ hash: await client.sendRawTransaction({ serializedTransaction: signed }) });
await client
  .request({ method: "eth_sendTransaction", params: [{ from: sender, to: sender }] })
  .then((hash) => say({ sent: hash }), (error) => say({ error: error.name }));
say({ block: Number(await client.getBlockNumber()) });
