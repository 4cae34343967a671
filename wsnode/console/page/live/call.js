/** A contract call whose result is shown again when a block changes it. */

import { encodeCall, shownResult } from "../lib/abi.js";
import { element } from "../lib/dom.js";
import { Rows } from "../lib/rows.js";
import { clock, grouped, quantity } from "../lib/text.js";

const MAX_ROWS = 30;

/** Shows the last results of one call in a table's body. */
export class WatchedCall {
  #connection;
  #rows;
  #changed;
  #end = () => {};
  #last = null;
  /** How many results there have been. */
  received = 0;

  /** `changed` is called after each result. */
  constructor(connection, body, changed) {
    this.#connection = connection;
    this.#rows = new Rows(body, cells, MAX_ROWS);
    this.#changed = changed;
  }

  /** Show the results of a parsed call to a contract, and of no other; `failed` is given what the node refuses. */
  watch(to, call, failed) {
    this.#end();
    this.#rows.clear();
    [this.#last, this.received] = [null, 0];
    const hash = (bytes) => this.#connection.call("web3_sha3", [bytes]);
    const params = async () => ["calls", { calls: [{ to, data: await encodeCall(call, hash) }] }];
    this.#end = this.#connection.subscribe(params, ({ result }) => this.#add(result), failed);
  }

  pause(isPaused) {
    this.#rows.pause(isPaused);
  }

  #add({ blockNumber, timestamp, results: [outcome] }) {
    // After a lost connection the first notification has the result whether it has changed or not.
    const text = JSON.stringify(outcome);
    if (text === this.#last) return;
    this.#last = text;
    this.received += 1;
    this.#rows.add({ blockNumber, timestamp, outcome });
    this.#changed();
  }
}

function cells({ blockNumber, timestamp, outcome: { result, error } }) {
  const shown = error === undefined ? shownResult(result) : error.message;
  const whole = error === undefined ? result : (error.data ?? error.message);
  return [grouped(quantity(blockNumber)), clock(quantity(timestamp)), element("code", { title: whole }, shown)];
}
