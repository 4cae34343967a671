/** Two subscriptions with cursors that outlive their connection, and the counts of what they brought. */

import { Connection, RpcError } from "../lib/connection.js";
import { grouped, quantity } from "../lib/text.js";
import { HeadTally, LogTally } from "./tally.js";

const CHECK_MILLISECONDS = 1_000;
/** Blocks that are held against the node at once; more cannot stay unsettled. */
const MOST_CHECKED = 100;
const quantityOf = (number) => `0x${number.toString(16)}`;

/** Dispatches `note` with a text, `block` with `{number, logs, isReplayed}`, and `change`. */
export class Run extends EventTarget {
  heads = new HeadTally();
  logs = new LogTally();
  drops = 0;
  /** Notifications that came after a drop and tell of the time before it ended. */
  caughtUp = 0;
  /** By kind of subscription, where to go on. */
  cursors = {};
  /** The last block whose logs were all held against the node's. */
  settled;
  #connection;
  #node;
  #head;
  #replayTo = -1;
  #openedAt = null;
  #seen;
  #timer;

  /**
   * `node` is another connection, which says what there is, `head` returns the number of the last block that
   * it was told of, and `first` is the block to begin with.
   */
  constructor(url, node, head, first) {
    super();
    this.first = first;
    this.settled = this.#seen = first - 1;
    this.#node = node;
    this.#head = head;
    this.#connection = new Connection(url);
    this.#connection.addEventListener("open", () => this.#opened());
    this.#connection.addEventListener("close", ({ detail }) => this.#closed(detail));
    this.#subscribe("logs", (log) => this.#addLog(log));
    this.#subscribe("newHeads", (header) => this.#addHead(header));
    this.#timer = setInterval(() => this.#check(), CHECK_MILLISECONDS);
    this.#connection.open();
  }

  get isConnected() {
    return this.#openedAt !== null;
  }

  /** Drop the connection for some seconds, if there is one. */
  drop(seconds) {
    if (this.isConnected) this.#connection.drop(1_000 * seconds);
  }

  stop() {
    clearInterval(this.#timer);
    this.#openedAt = null;
    this.#connection.close();
  }

  #subscribe(kind, add) {
    const { first, cursors } = this;
    this.#connection.subscribe(
      () => [kind, cursors[kind] ? { cursor: cursors[kind] } : { cursors: true, fromBlock: quantityOf(first) }],
      ({ result, cursor, error }) => {
        if (error !== undefined) this.#note(`${kind}: ${error.message}`);
        if (cursor !== undefined) cursors[kind] = cursor;
        if (result !== undefined) add(result);
      },
      (error) => this.#note(`${kind}: ${error.message}`),
    );
  }

  #opened() {
    this.#openedAt = performance.now();
    if (this.drops > 0) this.#replayTo = this.#head();
    if (this.drops > 0) this.#note("Connected again: both go on from their cursors");
    this.#change();
  }

  #closed({ milliseconds }) {
    this.#openedAt = null;
    this.drops += 1;
    const away = grouped(milliseconds / 1_000);
    this.#note(`Dropped at block ${grouped(this.heads.last ?? this.first)}, for ${away} s`);
    this.#change();
  }

  #addHead(header) {
    const number = quantity(header.number);
    this.heads.add(number, header.hash);
    // The logs of a reorganisation's blocks are looked at once more.
    this.settled = Math.min(this.settled, number - 1);
    this.#place(number, 0);
  }

  #addLog(log) {
    this.logs.add(log);
    if (!log.removed) this.#place(quantity(log.blockNumber), 1);
  }

  #place(number, logs) {
    const isReplayed = number <= this.#replayTo;
    if (isReplayed) this.caughtUp += 1;
    this.dispatchEvent(new CustomEvent("block", { detail: { number, logs, isReplayed } }));
    this.#change();
  }

  /** Hold the logs of blocks against the node's, once those told of at the check before have had time. */
  async #check() {
    const [last, isSteady] = [this.#seen, performance.now() - this.#openedAt > CHECK_MILLISECONDS];
    if (!this.isConnected || !isSteady) return;
    this.#seen = this.heads.last ?? this.#seen;
    if (last > this.settled) await this.#compare(Math.min(last, this.settled + MOST_CHECKED));
    this.#change();
  }

  async #compare(last) {
    const range = { fromBlock: quantityOf(this.settled + 1), toBlock: quantityOf(last) };
    try {
      const missing = this.logs.check(await this.#node.call("eth_getLogs", [range]));
      if (missing > 0 && last - this.settled < MOST_CHECKED) return;
    } catch (error) {
      if (!(error instanceof RpcError)) return;
      this.#note(`Blocks up to ${grouped(last)} cannot be compared: ${error.message}`);
    }
    this.logs.settle();
    this.settled = last;
  }

  #note(text) {
    this.dispatchEvent(new CustomEvent("note", { detail: text }));
  }

  #change() {
    this.dispatchEvent(new Event("change"));
  }
}
