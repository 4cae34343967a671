/**
 * A wallet's connection to one's own node: an EIP-1193 provider over one WebSocket, announced by EIP-6963.
 *
 *     const provider = new NodeProvider("ws://127.0.0.1:8545");
 *     announce(provider, "My own node");
 *     await provider.request({ method: "eth_accounts" });
 *
 * It connects again for as long as it takes, and continues subscriptions at their cursors: their ids stay, and
 * no block or log is missing in between. Where the node does not have the history any more, a message of the
 * type `history_gone` says so. Calls that were under way fail with code 4900.
 */
"use strict";

const MAX_PAUSE = 5_000;
const RESUMABLE = ["logs", "newHeads"];

/** Errors as EIP-1193 wants them: with a code. */
class ProviderError extends Error {
  constructor({ code, message, data }) {
    super(message);
    Object.assign(this, { code, data });
  }
}

class NodeProvider {
  #url;
  #socket;
  #listeners = new Map();
  #calls = new Map();
  #subscriptions = new Map();
  #lastId = 0;
  #chainId;
  #failures = 0;
  #ended = false;

  constructor(url) {
    this.#url = url;
    this.#open();
  }

  /** Resolves with the result of a call; rejects with a ProviderError. */
  async request({ method, params = [] }) {
    if (method === "eth_requestAccounts") return this.request({ method: "eth_accounts" });
    if (method === "eth_subscribe") return this.#subscribe(params);
    if (method === "eth_unsubscribe") return this.#unsubscribe(params[0]);
    return this.#call(method, params);
  }

  on(event, listener) {
    this.#listeners.set(event, [...(this.#listeners.get(event) ?? []), listener]);
    return this;
  }

  removeListener(event, listener) {
    this.#listeners.set(event, (this.#listeners.get(event) ?? []).filter((each) => each !== listener));
    return this;
  }

  isConnected() {
    return this.#socket.readyState === WebSocket.OPEN;
  }

  /** Ends the connection for good. */
  close() {
    this.#ended = true;
    this.#socket.close();
  }

  #emit(event, value) {
    for (const listener of this.#listeners.get(event) ?? []) listener(value);
  }

  #open() {
    this.#socket = new WebSocket(this.#url);
    this.#socket.onopen = () => this.#begin();
    this.#socket.onmessage = ({ data }) => this.#receive(JSON.parse(data));
    this.#socket.onclose = ({ code, reason }) => this.#lose(code, reason);
  }

  async #begin() {
    this.#failures = 0;
    for (const subscription of this.#subscriptions.values()) this.#resume(subscription);
    const chainId = await this.#call("eth_chainId", []);
    if (this.#chainId && this.#chainId !== chainId) this.#emit("chainChanged", chainId);
    this.#chainId = chainId;
    this.#emit("connect", { chainId });
  }

  #lose(code, reason) {
    const error = new ProviderError({ code: 4900, message: reason || "there is no connection to the node" });
    for (const { reject } of this.#calls.values()) reject(error);
    this.#calls.clear();
    this.#emit("disconnect", error);
    if (this.#ended) return;
    const pause = Math.min(MAX_PAUSE, 200 * 2 ** this.#failures++) * (0.5 + Math.random() / 2);
    setTimeout(() => this.#open(), pause);
  }

  #call(method, params) {
    if (!this.isConnected())
      return Promise.reject(new ProviderError({ code: 4900, message: "there is no connection to the node" }));
    const id = ++this.#lastId;
    this.#socket.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    return new Promise((resolve, reject) => this.#calls.set(id, { resolve, reject }));
  }

  #receive({ id, result, error, params }) {
    if (id === undefined) return this.#notify(params);
    const call = this.#calls.get(id);
    this.#calls.delete(id);
    if (error) call?.reject(new ProviderError(error));
    else call?.resolve(result);
  }

  async #subscribe([kind, options]) {
    const subscription = { kind, options, cursor: undefined, current: undefined };
    const name = await this.#continue(subscription);
    subscription.name = name;
    this.#subscriptions.set(name, subscription);
    return name;
  }

  /** Asks for events after the last one, or from now on. */
  async #continue(subscription) {
    const { kind, options, cursor } = subscription;
    const begin = RESUMABLE.includes(kind) ? (cursor ? { cursor } : { cursors: true }) : undefined;
    const wanted = begin || options ? [kind, { ...options, ...begin }] : [kind];
    return (subscription.current = await this.#call("eth_subscribe", wanted));
  }

  /** Continues on a new connection; with the present where the history is gone. */
  async #resume(subscription) {
    try {
      await this.#continue(subscription);
    } catch ({ code }) {
      // The connection is lost again, and the next one continues.
      if (code === 4900) return;
      subscription.cursor = undefined;
      this.#emit("message", { type: "history_gone", data: { subscription: subscription.name } });
      await this.#continue(subscription).catch(() => {});
    }
  }

  async #unsubscribe(name) {
    const { current } = this.#subscriptions.get(name) ?? {};
    this.#subscriptions.delete(name);
    return this.#call("eth_unsubscribe", [current]);
  }

  #notify({ subscription: current, result, cursor }) {
    const found = [...this.#subscriptions.values()].find((each) => each.current === current);
    if (!found) return;
    found.cursor = cursor ?? found.cursor;
    if (result === undefined) return;
    this.#emit("message", { type: "eth_subscription", data: { subscription: found.name, result } });
  }
}

/** Tells all applications of the page that there is this wallet (EIP-6963). */
function announce(provider, name) {
  const icon = `data:image/svg+xml,${encodeURIComponent(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><circle cx="4" cy="4" r="3" fill="teal"/></svg>',
  )}`;
  const info = Object.freeze({ uuid: crypto.randomUUID(), name, icon, rdns: "localhost.wsnode" });
  const tell = () =>
    dispatchEvent(new CustomEvent("eip6963:announceProvider", { detail: Object.freeze({ info, provider }) }));
  addEventListener("eip6963:requestProvider", tell);
  tell();
}
