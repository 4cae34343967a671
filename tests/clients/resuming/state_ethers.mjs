/** Says the values, and the results of calls, that it holds after each change: `node state_ethers.mjs URL EMITTER ACCOUNT…`. */
import { WebSocketProvider } from "ethers";
import { emitter, say, url } from "./said.mjs";
import { watchCalls, watchState } from "./watching.js";

const provider = new WebSocketProvider(url);
await provider.getNetwork();
const wanted = { accounts: process.argv.slice(4), slots: { [emitter]: ["0x0"] } };
const onState = ({ blockHash, accounts }) => say({ state: [blockHash, accounts] });
const options = { interval: 50, onError: (error) => say({ error: error.message }) };
await watchState(provider, wanted, onState, options);
// The balances of the accounts, and a revert.
const balances = wanted.accounts.map((address) => ({ data: `0x73${address.slice(2)}315f5260205ff3` }));
const onResults = ({ blockHash, results }) => say({ calls: [blockHash, results] });
await watchCalls(provider, [...balances, { data: "0x5f5ffd" }], onResults, options);
say({ begun: true });
