/** ethers 5 subscribes as its documentation shows: `node ethers5.mjs URL EMITTER`. */
import { providers } from "ethers5";
import { emitter, say, url } from "./said.mjs";

const provider = new providers.WebSocketProvider(url);
provider._websocket.onclose = ({ code }) => say({ closed: code });
provider.on("error", (error) => say({ error: error.message }));
provider.on("block", (number) => say({ head: number }));
provider.on({ address: emitter }, (log) => say({ log: [log.blockNumber, log.logIndex] }));
provider.on("pending", (hash) => say({ pending: hash }));
