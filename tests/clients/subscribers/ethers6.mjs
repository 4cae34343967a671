/** ethers 6 subscribes as its documentation shows: `node ethers6.mjs URL EMITTER`. */
import { WebSocketProvider } from "ethers";
import { emitter, say, url } from "./said.mjs";

const provider = new WebSocketProvider(url);
provider.websocket.onclose = ({ code }) => say({ closed: code });
provider.on("error", (error) => say({ error: error.message }));
provider.on("block", (number) => say({ head: number }));
provider.on({ address: emitter }, (log) => say({ log: [log.blockNumber, log.index] }));
provider.on("pending", (hash) => say({ pending: hash }));
