/** Logs as they arrive, of all contracts or of one. */

import { element } from "../lib/dom.js";
import { blocksAgo } from "../lib/connection.js";
import { Rows } from "../lib/rows.js";
import { amount, grouped, quantity, shortened } from "../lib/text.js";

const MAX_ROWS = 60;
/** Blocks before the page whose logs are shown. */
const BEFORE = 3;
/** Of the events that many contracts have, and of the demo's, the names by the first topic. */
const EVENTS = {
  "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef": "Transfer",
  "0x8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925": "Approval",
  "0x90890809c654f11d6e72a28fa60149770a0d11ec6c92319d6ceb2bb0a4ea1a15": "Deposit",
  "0x49926bbebe8474393f434dfa4f78694c0923efa07d19f2284518bfabd06eb737": "Swap",
  "0xcf2aa50876cdfbb541206f89af0ee78d44a2abf8d328e37fa4917f982149848a": "Sync",
  "0x000cbadb024e810fa612392658b43885bacd6c694f81f8c8ccce279ce8c63c45": "Milestone",
  "0xd78ad95fa46c994b6551d0da85fc275fe613ce37657fb8d5e3d130840159d822": "Swap",
  "0x1c411e9a96e071241c2f21f7726b17ae89e3cab4c78be50e062b03a9fffbbad1": "Sync",
  "0xe1fffcc4923d04b559f4d29a8bfc6cda04eb5b0d3c460751c2402c5c5cc9109c": "Deposit",
  "0x7fcf532c15f0a6db0bd6d0e038bea71d30d808c7d98cb3bf7268a95bf5081b65": "Withdrawal",
};
const WORD = 64;

/** Shows the last logs of a connection's chain in a table's body. */
export class Logs {
  #connection;
  #rows;
  #changed;
  #end = () => {};
  #times = [];
  /** How many have come in all. */
  received = 0;

  /** `changed` is called after each log with it, and without one when there are none any more. */
  constructor(connection, body, changed) {
    this.#connection = connection;
    this.#rows = new Rows(body, cells, MAX_ROWS);
    this.#changed = changed;
  }

  get shown() {
    return this.#rows.size;
  }

  /** Show the logs of the contracts of a filter, and no others: the last ones, and all that follow. */
  watch(filter, failed) {
    this.#end();
    const params = async () => {
      const first = await blocksAgo(this.#connection, BEFORE);
      this.#rows.clear();
      this.received = 0;
      this.#changed();
      return ["logs", { ...filter, cursors: true, fromBlock: first }];
    };
    // A notice has no result.
    this.#end = this.#connection.subscribe(params, ({ result }) => result && this.#add(result), failed);
  }

  pause(isPaused) {
    this.#rows.pause(isPaused);
  }

  /** Return how many came in the last seconds, as a rate. */
  rate(seconds = 10) {
    const now = performance.now();
    this.#times = this.#times.filter(({ time }) => now - time < 1_000 * seconds);
    return this.#times.reduce((sum, { count }) => sum + count, 0) / seconds;
  }

  #add(log) {
    this.received += 1;
    this.#rows.add(log);
    // A block's logs come together, so what is counted is counted by the tenth of a second.
    const time = Math.floor(performance.now() / 100) * 100;
    const last = this.#times.at(-1);
    if (last?.time === time) last.count += 1;
    else if (this.#times.push({ time, count: 1 }) > 1_000) this.#times.shift();
    this.#changed(log);
  }
}

function cells(log) {
  const event = log.topics.length === 0 ? "no topic" : (EVENTS[log.topics[0]] ?? shortened(log.topics[0]));
  return [
    `${grouped(quantity(log.blockNumber))} · ${quantity(log.logIndex)}`,
    element("code", { title: log.address }, shortened(log.address)),
    log.removed ? element("s", { title: "removed by a reorganisation" }, event) : event,
    element("span", { class: "detail" }, detail(log)),
  ];
}

/** Return the indexed values of a log in short, and its amounts. */
function detail(log) {
  const indexed = log.topics.slice(1).map((topic) => shortened(address(topic), 3));
  const words = Math.min((log.data.length - 2) / WORD, 4);
  const values = [];
  for (let index = 0; index + 1 <= words; index++) {
    values.push(amount(BigInt(`0x${log.data.slice(2 + index * WORD, 2 + (index + 1) * WORD)}`)));
  }
  return [indexed.join(" → "), values.join(", ")].filter((part) => part !== "").join("  ");
}

/** Return the address that a topic holds, or the topic if it holds something else. */
function address(topic) {
  return topic.startsWith("0x" + "0".repeat(24)) ? `0x${topic.slice(26)}` : topic;
}
