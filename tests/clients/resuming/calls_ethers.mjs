/** Calls whose replies are lost: `node calls_ethers.mjs URL SENDER TRANSACTION`. */
import { WebSocketProvider } from "ethers";
import { emitter as sender, say, url } from "./said.mjs";

const provider = new WebSocketProvider(url);
const signed = process.argv[4];

say({ balance: String(await provider.getBalance(sender)) });
say({ hash: (await provider.broadcastTransaction(signed)).hash });
await provider
  .send("eth_sendTransaction", [{ from: sender, to: sender }])
  .then((hash) => say({ sent: hash }), (error) => say({ error: error.code }));
say({ block: await provider.getBlockNumber() });
