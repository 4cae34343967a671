/** Says the values, and the results of calls, that it holds after each change: `node state_viem.mjs URL EMITTER ACCOUNT…`. */
import { createPublicClient, webSocket } from "viem";
import { emitter, say, url } from "./said.mjs";
import { watchCalls, watchState } from "./watching.js";

const transport = webSocket(url);
const client = createPublicClient({ transport });
const wanted = { accounts: process.argv.slice(4), slots: { [emitter]: ["0x0"] } };
const onState = ({ blockHash, accounts }) => say({ state: [blockHash, accounts] });
const options = { interval: 50, onError: (error) => say({ error: error.message }) };
await watchState(client, wanted, onState, options);
// The balances of the accounts, and a revert.
const balances = wanted.accounts.map((address) => ({ data: `0x73${address.slice(2)}315f5260205ff3` }));
const onResults = ({ blockHash, results }) => say({ calls: [blockHash, results] });
await watchCalls(client, [...balances, { data: "0x5f5ffd" }], onResults, options);
say({ begun: true });
