/** Two subscriptions with cursors that outlive their connection, and the counts of what they brought. */

import { Connection, RpcError } from "../lib/connection.js";
import { grouped, quantity } from "../lib/text.js";
import { HeadTally, LogTally } from "./tally.js";

const CHECK_MILLISECONDS = 1_000;
/** Blocks below the head with which a run begins. */
export const BLOCKS_BEFORE = 20;
/** Blocks that are held against the node at once; more cannot stay unsettled. */
const MAX_CHECKED = 100;
/** The code of an error about a cursor whose block the node does not have. */
const UNKNOWN = -32001;
const quantityOf = (number) => `0x${number.toString(16)}`;

/** Dispatches `note` with a text, `block` with `{number, logs, isReplayed}`, `anew` and `change`. */
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
  /** The hash of the chain's first block, null while it is not known. */
  #genesis = null;
  /** Settles once it is known which chain answers. */
  #identified = Promise.resolve();

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
    this.#connection.subscribe(
      async () => {
        await this.#identified;
        const cursor = this.cursors[kind];
        return [kind, cursor ? { cursor } : { cursors: true, fromBlock: quantityOf(this.first) }];
      },
      ({ result, cursor, error }) => {
        if (error !== undefined) this.#note(`${kind}: ${error.message}`);
        if (cursor !== undefined) this.cursors[kind] = cursor;
        if (result !== undefined) add(result);
      },
      (error) => this.#refused(kind, error),
    );
  }

  /** Begin anew where the cursor's block is not there any more. */
  async #refused(kind, error) {
    this.#note(`${kind}: ${error.message}`);
    if (error.code !== UNKNOWN || this.cursors[kind] === undefined) return;
    await this.#beginAnew();
    this.#connection.drop();
  }

  /** Ask which chain answers: another one has other blocks, so that no cursor leads anywhere in it. */
  async #identify() {
    const block = await this.#connection.call("eth_getBlockByNumber", ["0x0", false]).catch(() => null);
    if (block === null) return;
    const isAnother = this.#genesis !== null && this.#genesis !== block.hash;
    this.#genesis = block.hash;
    if (isAnother) await this.#beginAnew();
  }

  async #beginAnew() {
    this.cursors = {};
    this.heads = new HeadTally();
    this.logs = new LogTally();
    const head = await this.#connection.call("eth_blockNumber").catch(() => "0x0");
    this.first = Math.max(0, quantity(head) - BLOCKS_BEFORE + 1);
    this.settled = this.#seen = this.first - 1;
    this.#replayTo = -1;
    this.dispatchEvent(new Event("anew"));
    this.#note(`Another chain answers here: begun anew from block ${grouped(this.first)} on`);
    this.#change();
  }

  #opened() {
    this.#openedAt = performance.now();
    this.#identified = this.#identify();
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
    if (last > this.settled) await this.#compare(Math.min(last, this.settled + MAX_CHECKED));
    this.#change();
  }

  async #compare(last) {
    const range = { fromBlock: quantityOf(this.settled + 1), toBlock: quantityOf(last) };
    try {
      const missing = this.logs.check(await this.#node.call("eth_getLogs", [range]));
      if (missing > 0 && last - this.settled < MAX_CHECKED) return;
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
