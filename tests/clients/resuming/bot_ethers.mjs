/** A bot as ethers' documentation has it: `node bot_ethers.mjs URL EMITTER`. */
import { Contract, WebSocketProvider, toBeHex, zeroPadValue } from "ethers";
import { emitter, say, url } from "./said.mjs";

const provider = new WebSocketProvider(url);
// ethers dies of a log that comes before it knows the network.
await provider.getNetwork();
const contract = new Contract(emitter, ["event Note(uint256 indexed number)"], provider);
const place = ({ blockHash, index, removed, topics }) => [blockHash, index, removed, BigInt(topics[1])];

// ethers keeps logs that are taken back from those who watch: here they are said, too, behind those before.
const { emit } = provider;
provider.emit = async function (event, ...values) {
  const isHeard = await emit.call(this, event, ...values);
  const [log] = values;
  if (log?.removed) say({ [event.topics.length > 1 ? "rare" : "log"]: place(log) });
  return isHeard;
};
provider.on("error", (error) => say({ error: error.shortMessage ?? error.message, kind: error.reasonCode }));
provider.on("block", (number) => say({ head: number }));
provider.on("pending", (hash) => say({ pending: hash }));
provider.on({ address: emitter, topics: [null, zeroPadValue(toBeHex(1), 32)] }, (log) => say({ rare: place(log) }));
contract.on("Note", (_number, { log }) => say({ log: place(log) }));
