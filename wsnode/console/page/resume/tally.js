/** What of a subscription has come: counted by itself, and held against what the node says there is. */

/** Blocks and logs that are remembered, to notice what comes twice. */
const MAX_REMEMBERED = 20_000;

/** A map that forgets what was set first. */
class Recent extends Map {
  set(key, value) {
    super.delete(key);
    super.set(key, value);
    if (this.size > MAX_REMEMBERED) this.delete(this.keys().next().value);
    return this;
  }
}

/** Counts headers: one is missing where a number follows that is not the next. */
export class HeadTally {
  received = 0;
  twice = 0;
  missing = 0;
  /** The number of the last block, or null. */
  last = null;
  #hashes = new Recent();

  /** Count the next block. A block that a reorganisation brings back is not there twice. */
  add(number, hash) {
    if (this.#hashes.get(number) === hash) {
      this.twice += 1;
      return;
    }
    this.received += 1;
    for (let above = number + 1; above <= this.last; above++) this.#hashes.delete(above);
    if (this.last !== null && number > this.last + 1) this.missing += number - this.last - 1;
    this.#hashes.set(number, hash);
    this.last = number;
  }
}

/** Counts logs: which are missing only the node can tell. */
export class LogTally {
  received = 0;
  twice = 0;
  #lost = 0;
  #unsettled = 0;
  #held = new Recent();

  get missing() {
    return this.#lost + this.#unsettled;
  }

  /** Count the next log; one that is removed may come again. */
  add(log) {
    const key = keyOf(log);
    if (log.removed) this.#held.delete(key);
    else if (this.#held.has(key)) this.twice += 1;
    else {
      this.received += 1;
      this.#held.set(key, true);
    }
  }

  /** Hold the logs of some blocks, as the node has them, against those that came; return how many did not. */
  check(logs) {
    this.#unsettled = logs.filter((log) => !this.#held.has(keyOf(log))).length;
    return this.#unsettled;
  }

  /** Count what was missing at the last check for good: its blocks are not looked at again. */
  settle() {
    this.#lost += this.#unsettled;
    this.#unsettled = 0;
  }
}

function keyOf({ blockHash, logIndex }) {
  return `${blockHash}/${logIndex}`;
}
