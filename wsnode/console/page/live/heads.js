/** Blocks as they arrive. */

import { element } from "../lib/dom.js";
import { blocksAgo } from "../lib/connection.js";
import { Rows } from "../lib/rows.js";
import { clock, grouped, precise, quantity, shortened } from "../lib/text.js";

const MAX_ROWS = 30;
/** Blocks that were there before the page. */
const BEFORE = 12;
/** Of blocks that come faster than these a second the transactions are not counted. */
const COUNTED_A_SECOND = 20;

/** Shows the last blocks of a connection's chain in a table's body. */
export class Heads {
  #connection;
  #rows;
  #second = 0;
  #counted = 0;

  constructor(connection, body) {
    this.#connection = connection;
    this.#rows = new Rows(body, cells, MAX_ROWS);
  }

  /** Show the last blocks and all that follow; `told` is given each header, `failed` an error. */
  follow(told, failed) {
    const listener = ({ result }) => {
      // A notice has no result.
      if (result === undefined) return;
      this.#add(result);
      told(result);
    };
    const params = async () => {
      const first = await blocksAgo(this.#connection, BEFORE);
      this.#rows.clear();
      return ["newHeads", { cursors: true, fromBlock: first }];
    };
    this.#connection.subscribe(params, listener, failed);
  }

  #add(header) {
    const block = { header, transactions: null };
    this.#rows.add(block);
    this.#count(block);
  }

  pause(isPaused) {
    this.#rows.pause(isPaused);
  }

  async #count(block) {
    const second = Math.floor(performance.now() / 1_000);
    if (second !== this.#second) [this.#second, this.#counted] = [second, 0];
    if (++this.#counted > COUNTED_A_SECOND) return;
    try {
      const count = await this.#connection.call("eth_getBlockTransactionCountByHash", [block.header.hash]);
      block.transactions = count === null ? null : quantity(count);
      this.#rows.refresh();
    } catch {
      // The connection was lost, or the block is gone again: its number of transactions is not known then.
    }
  }
}

function cells({ header, transactions }) {
  const used = (100 * quantity(header.gasUsed)) / quantity(header.gasLimit);
  return [
    grouped(quantity(header.number)),
    clock(quantity(header.timestamp)),
    transactions === null ? "–" : grouped(transactions),
    `${precise(used)} %`,
    header.baseFeePerGas === undefined ? "–" : gwei(header.baseFeePerGas),
    element("code", { title: header.hash }, shortened(header.hash)),
  ];
}

function gwei(wei) {
  return precise(Number(BigInt(wei)) / 1e9);
}

