/** A WebSocket to the node that is opened again when it is lost, with calls and subscriptions on it. */

const FIRST_PAUSE = 500;
const MAX_PAUSE = 10_000;
const REPLY_MILLISECONDS = 65_000;
/** A reply's id, where the node writes it: what may be 60 MB long is not parsed to find out whose it is. */
const ID = /^\{"jsonrpc":"2\.0","id":("(?:[^"\\]|\\.)*"|-?\d+|null)[,}]/;

/** The connection was lost before the reply, or there is none. */
export class LostError extends Error {}

/** The node answered with an error. */
export class RpcError extends Error {
  constructor({ code, message, data }) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** Dispatches `open`, `close` with `detail.milliseconds` until it tries again, and `stray` with a text. */
export class Connection extends EventTarget {
  #url;
  #socket = null;
  #pause = FIRST_PAUSE;
  #timer = null;
  #count = 0;
  #waiting = new Map();
  #wanted = new Set();
  #listeners = new Map();

  constructor(url) {
    super();
    this.#url = url;
  }

  get isOpen() {
    return this.#socket?.readyState === WebSocket.OPEN;
  }

  /** Connect, and keep connected from now on. */
  open() {
    clearTimeout(this.#timer);
    const socket = new WebSocket(this.#url);
    this.#socket = socket;
    socket.onopen = () => this.#begin();
    socket.onmessage = ({ data }) => this.#receive(data);
    socket.onclose = ({ code, reason }) => this.#lose(this.#nextPause(), code, reason);
  }

  /** Drop the connection, pass over what is still on its way, and connect again after a time. */
  drop(milliseconds = 0) {
    const socket = this.#socket;
    if (socket === null) return;
    socket.onopen = socket.onmessage = socket.onclose = null;
    socket.close();
    this.#lose(milliseconds, 1000, "");
  }

  /** Drop the connection for good. */
  close() {
    this.drop();
    clearTimeout(this.#timer);
  }

  /** Return the result of a method; throws RpcError, or LostError. */
  async call(method, params = []) {
    const id = `page-${++this.#count}`;
    const { text } = await this.exchange(JSON.stringify({ jsonrpc: "2.0", id, method, params }), id);
    const reply = JSON.parse(text);
    if (reply.error) throw new RpcError(reply.error);
    return reply.result;
  }

  /**
   * Return the reply to a request as `{text, milliseconds}`, both texts as they go over the wire.
   *
   * Without an `id`, whatever comes next and belongs to nobody else is the reply.
   */
  exchange(text, id = undefined) {
    if (!this.isOpen) return Promise.reject(new LostError("not connected"));
    const key = id === undefined ? undefined : JSON.stringify(id);
    return new Promise((resolve, reject) => {
      if (this.#waiting.has(key)) throw new LostError("a request with this id waits for its reply");
      const timer = setTimeout(() => {
        this.#waiting.delete(key);
        reject(new LostError(`no reply within ${REPLY_MILLISECONDS / 1_000} s`));
      }, REPLY_MILLISECONDS);
      const begun = performance.now();
      this.#waiting.set(key, { resolve, reject, timer, begun });
      this.#socket.send(text);
    });
  }

  /**
   * Subscribe now and after each loss: `params()` returns eth_subscribe's, or a promise of them; `listener` is
   * given each notification's params. Returns a function that ends the subscription.
   */
  subscribe(params, listener, failed = () => {}) {
    const wish = { params, listener, failed, id: null };
    this.#wanted.add(wish);
    if (this.isOpen) this.#fulfil(wish);
    return () => this.#end(wish);
  }

  #begin() {
    this.#pause = FIRST_PAUSE;
    this.dispatchEvent(new Event("open"));
    for (const wish of this.#wanted) this.#fulfil(wish);
  }

  async #fulfil(wish) {
    try {
      const id = await this.call("eth_subscribe", await wish.params());
      wish.id = id;
      // The reply comes before the first notification, and this runs before the next message is read.
      this.#listeners.set(id, wish.listener);
      if (!this.#wanted.has(wish)) this.#end(wish);
    } catch (error) {
      if (error instanceof RpcError) wish.failed(error);
    }
  }

  #end(wish) {
    this.#wanted.delete(wish);
    if (!this.#listeners.delete(wish.id)) return;
    this.call("eth_unsubscribe", [wish.id]).catch(() => {});
  }

  #receive(text) {
    const key = ID.exec(text)?.[1];
    if (key !== undefined && this.#waiting.has(key)) this.#answer(key, text);
    else if (!this.#notify(text)) this.#leave(text);
  }

  #answer(key, text) {
    const { resolve, timer, begun } = this.#waiting.get(key);
    this.#waiting.delete(key);
    clearTimeout(timer);
    resolve({ text, milliseconds: performance.now() - begun });
  }

  #notify(text) {
    const { method, params } = JSON.parse(text);
    const listener = method === undefined ? undefined : this.#listeners.get(params?.subscription);
    listener?.(params);
    return listener !== undefined;
  }

  #leave(text) {
    const isNotification = text.startsWith('{"jsonrpc":"2.0","method"');
    if (this.#waiting.has(undefined) && !isNotification) this.#answer(undefined, text);
    else this.dispatchEvent(new CustomEvent("stray", { detail: text }));
  }

  #nextPause() {
    // Pages that lost a node together should not come back together.
    const pause = this.#pause * (0.75 + Math.random() / 2);
    this.#pause = Math.min(2 * this.#pause, MAX_PAUSE);
    return pause;
  }

  #lose(milliseconds, code, reason) {
    this.#socket = null;
    this.#listeners.clear();
    for (const { reject, timer } of this.#waiting.values()) {
      clearTimeout(timer);
      reject(new LostError("the connection was lost"));
    }
    this.#waiting.clear();
    this.#timer = setTimeout(() => this.open(), milliseconds);
    this.dispatchEvent(new CustomEvent("close", { detail: { milliseconds, code, reason } }));
  }
}

/** Return the number of a block somewhat before the head, as a quantity. */
export async function blocksAgo(connection, count) {
  const head = Number.parseInt(await connection.call("eth_blockNumber"), 16);
  return `0x${Math.max(0, head - count + 1).toString(16)}`;
}
