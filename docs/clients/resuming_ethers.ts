/**
 * An ethers 6 provider whose events lose nothing. One line changes:
 *
 *     const provider = new ResumingProvider("ws://127.0.0.1:8545");      // was: new WebSocketProvider(…)
 *
 * It connects again for as long as it takes, and continues each subscription at its cursor. Reads that were
 * under way are sent again; a call that could act twice fails with ethers' NETWORK_ERROR. On a node without
 * cursors a subscription begins again with the present. `provider.on("error", …)` hears of events that the
 * node cannot send again; without a listener they are written to the console.
 */
import { type JsonRpcApiProviderOptions, type JsonRpcPayload, type Networkish } from "ethers";
import { type SocketSubscriber, type WebSocketLike, WebSocketProvider, keccak256, makeError } from "ethers";

export type ResumingOptions = JsonRpcApiProviderOptions & {
  /** Milliseconds without a connection after which calls fail; 60,000. */
  patience?: number;
  /** Calls that may wait for a connection; 10,000. */
  mostWaiting?: number;
  /** Milliseconds of silence after which the node is asked for a sign of life; 30,000. */
  keepAlive?: number;
};
type Call = {
  payload: JsonRpcPayload;
  resolve: (reply: any) => void;
  reject: (error: Error) => void;
  /** Over the present connection. */
  isSent?: boolean;
  isRepeated?: boolean;
};
type Subscription = {
  course: Course;
  /** Gives ethers the first reply. */
  answer: (reply: any) => void;
  /** The id in the first reply. */
  name?: string;
  /** The id of the present connection. */
  id?: string;
  subscriber?: SocketSubscriber;
  /** Results that came before the subscriber. */
  early: any[];
};

/** A WebSocketProvider to which there is a connection most of the time. */
export class ResumingProvider extends WebSocketProvider {
  #url: string;
  #options: Required<Pick<ResumingOptions, "patience" | "mostWaiting" | "keepAlive">>;
  #socket?: WebSocket;
  #isOpen = false;
  #isSilent = false;
  /** Whether the outage is too long for calls to wait. */
  #isGivenUp = false;
  #attempts = 0;
  #node: { cursors?: boolean } = {};
  #calls = new Map<any, Call>();
  #subscriptions = new Set<Subscription>();
  /** Those of the present connection, by their ids. */
  #live = new Map<string | undefined, Subscription>();
  #turn: Promise<any> = Promise.resolve();
  #ids = 0;
  #heartbeat?: ReturnType<typeof setInterval>;
  #outage?: ReturnType<typeof setTimeout>;

  constructor(url: string, network?: Networkish, resumingOptions: ResumingOptions = {}) {
    const { patience = 60_000, mostWaiting = 10_000, keepAlive = 30_000, ...options } = resumingOptions;
    super(url, network, options);
    this.#url = url;
    this.#options = { patience, mostWaiting, keepAlive };
    this.#use(super.websocket as WebSocket);
    this.#startOutage();
  }

  /** The present connection. */
  get websocket(): WebSocketLike {
    // ethers asks for it in its constructor, too.
    return (#socket in this && this.#socket) || super.websocket;
  }

  /** Resolves with the reply, which may come over a later connection than the one it was asked on. */
  async _send(payload: JsonRpcPayload | JsonRpcPayload[]): Promise<any[]> {
    if (Array.isArray(payload)) return super._send(payload);
    if (payload.method === "eth_subscribe") return [await this.#begin(payload)];
    if (payload.method === "eth_unsubscribe") return [await this.#end(payload)];
    const { reply, isRepeated } = await this.#call(payload);
    const hash = reply.error && isRepeated && (await this.#doneAlready(payload));
    return [hash ? { id: payload.id, result: hash } : reply];
  }

  /** Takes the subscriber of an id that eth_subscribe returned. */
  _register(name: any, subscriber: SocketSubscriber) {
    for (const subscription of this.#subscriptions) {
      if (subscription.name !== name) continue;
      subscription.subscriber = subscriber;
      subscription.early.splice(0).forEach((result) => subscriber._handleMessage(result));
    }
  }

  /** Ends everything for good. */
  async destroy() {
    await super.destroy();
    clearTimeout(this.#outage);
    this.#lose(this.#socket);
    this.#fail([...this.#calls.values()], "provider destroyed; cancelled request", "UNSUPPORTED_OPERATION");
  }

  // The connection

  #use(socket: WebSocket) {
    this.#socket = socket;
    socket.onopen = () => this.#open();
    socket.onmessage = ({ data }) => this.#receive(JSON.parse(data));
    socket.onclose = () => this.#lose(socket);
    // A close follows.
    socket.onerror = () => {};
    this.#isSilent = false;
    if (this.#options.keepAlive) this.#heartbeat = setInterval(() => this.#beat(), this.#options.keepAlive);
  }

  #open() {
    clearTimeout(this.#outage);
    this.#outage = undefined;
    this.#isOpen = true;
    this.#isGivenUp = this.#isSilent = false;
    for (const call of this.#calls.values()) this.#write(call);
    for (const subscription of this.#subscriptions) this.#subscribe(subscription);
    this._start();
  }

  /** A connection may be dead without a close, or never come about. */
  #beat() {
    if (this.#isSilent) return this.#lose(this.#socket);
    this.#isSilent = true;
    if (this.#isOpen) this.#ask("net_version").catch(() => {});
  }

  #lose(socket: WebSocket | undefined) {
    if (!socket || socket !== this.#socket) return;
    this.#socket = undefined;
    this.#isOpen = false;
    this.#live.clear();
    clearInterval(this.#heartbeat);
    socket.close();
    const unsafe = [...this.#calls.values()].filter(({ isSent, payload }) => isSent && !REPEATABLE.test(payload.method));
    this.#fail(unsafe, "the connection was lost before the reply", "NETWORK_ERROR");
    for (const call of this.#calls.values()) {
      call.isRepeated ||= call.isSent;
      call.isSent = false;
    }
    if (!this.destroyed) this.#connect(socket.constructor as any);
  }

  async #connect(Socket: typeof WebSocket) {
    this.#startOutage();
    await pause(this.#attempts++);
    if (!this.destroyed) this.#use(new Socket(this.#url));
  }

  #startOutage() {
    this.#outage ??= setTimeout(() => {
      this.#isGivenUp = true;
      this.#fail([...this.#calls.values()], "there is no connection", "NETWORK_ERROR");
    }, this.#options.patience);
  }

  #receive(message: any) {
    this.#isSilent = false;
    this.#attempts = 1;
    if (message.method === "eth_subscription") return this.#notify(message.params);
    const call = this.#calls.get(message.id);
    this.#calls.delete(message.id);
    call?.resolve({ reply: message, isRepeated: call.isRepeated });
  }

  // Calls

  /** Resolves with the result of a call of its own. */
  async #ask(method: string, params: any[] = []): Promise<any> {
    const { reply } = await this.#call({ jsonrpc: "2.0", id: this.#nextId(), method, params });
    if (reply.error) throw new Error(reply.error.message);
    return reply.result;
  }

  #call(payload: JsonRpcPayload): Promise<any> {
    return new Promise((resolve, reject) => this.#enter({ payload, resolve, reject }));
  }

  #enter(call: Call) {
    if (!this.#isOpen && (this.#isGivenUp || this.#calls.size >= this.#options.mostWaiting))
      return this.#fail([call], "there is no connection", "NETWORK_ERROR");
    this.#calls.set(call.payload.id, call);
    if (this.#isOpen) this.#write(call);
  }

  #write(call: Call) {
    call.isSent = true;
    this.#socket?.send(JSON.stringify(call.payload));
  }

  #fail(calls: Call[], message: string, code: any) {
    for (const { payload, reject } of calls) {
      this.#calls.delete(payload.id);
      reject(makeError(message, code, { operation: payload.method, event: "close" } as any));
    }
  }

  /** Resolves with the hash of a transaction whose repetition was refused because the node has it. */
  async #doneAlready({ method, params }: JsonRpcPayload) {
    if (method !== "eth_sendRawTransaction") return null;
    const hash = keccak256((params as any)[0]);
    return (await this.#ask("eth_getTransactionByHash", [hash])) && hash;
  }

  /** No number, so that none of ethers' own ids is the same. */
  #nextId(): any {
    return `resuming-${++this.#ids}`;
  }

  // Subscriptions

  #begin({ id, params }: JsonRpcPayload): Promise<any> {
    return new Promise((resolve) => {
      const course = new Course(this.#node, params as any[], (cause) => this.#complain(cause));
      const answer = (reply: any) => resolve({ id, ...reply });
      const subscription: Subscription = { course, answer, early: [] };
      this.#subscriptions.add(subscription);
      if (this.#isOpen) this.#subscribe(subscription);
    });
  }

  async #end({ id, params }: JsonRpcPayload) {
    const [name] = params as any[];
    const ended = [...this.#subscriptions].find((subscription) => subscription.name === name);
    if (!ended) return { id, result: false };
    this.#subscriptions.delete(ended);
    // Without its connection there is nothing left to end.
    if (this.#live.delete(ended.id)) await this.#ask("eth_unsubscribe", [ended.id]).catch(() => {});
    return { id, result: true };
  }

  async #subscribe(subscription: Subscription) {
    const socket = this.#socket;
    for (let refusals = 1; socket === this.#socket && this.#subscriptions.has(subscription); refusals++) {
      // Where the connection is lost the next one begins with this.
      const error = await this.#inTurn(() => this.#attempt(subscription, socket)).catch(() => true);
      if (!error) return;
      if (error !== true && subscription.name === undefined && !isBehind(error)) {
        this.#subscriptions.delete(subscription);
        return subscription.answer({ error });
      }
      if (socket === this.#socket) await pause(refusals);
    }
  }

  /** Subscriptions are made one by one until the node is known: one without cursors refuses them once. */
  #inTurn(subscribe: () => Promise<any>) {
    if (this.#node.cursors !== undefined) return subscribe();
    return (this.#turn = this.#turn.then(subscribe, subscribe));
  }

  /** Resolves with the node's refusal, if it refuses. */
  async #attempt(subscription: Subscription, socket?: WebSocket): Promise<any> {
    const params = await subscription.course.params(() => this.#ask("eth_blockNumber"));
    if (socket !== this.#socket) throw new Error("the connection is another");
    const payload = { jsonrpc: "2.0" as const, id: this.#nextId(), method: "eth_subscribe", params };
    const error: any = await new Promise((resolve, reject) => {
      const begin = ({ reply }: any) => {
        // At once: notifications may be right behind the reply.
        if (!reply.error) this.#begun(subscription, reply.result);
        resolve(reply.error);
      };
      this.#enter({ payload, resolve: begin, reject });
    });
    return error && subscription.course.adapts(error) ? this.#attempt(subscription, socket) : error;
  }

  #begun(subscription: Subscription, id: string) {
    if (!this.#subscriptions.has(subscription)) return this.#ask("eth_unsubscribe", [id]).catch(() => {});
    subscription.id = id;
    this.#live.set(id, subscription);
    subscription.course.begin();
    if (subscription.name !== undefined) return;
    subscription.name = id;
    subscription.answer({ result: id });
  }

  #notify(params: any) {
    const subscription = this.#live.get(params.subscription);
    if (!subscription?.course.receives(params)) return;
    if (subscription.subscriber) subscription.subscriber._handleMessage(params.result);
    else subscription.early.push(params.result);
  }

  async #complain(cause: any) {
    const message = "events are missing: the node does not have the history that follows the last one";
    const error = makeError(message, "UNKNOWN_ERROR", { reasonCode: "HISTORY_GONE", error: cause });
    if (!(await this.emit("error", error))) console.error(error);
  }
}

// From here on all clients' files are the same.

const MIN_PAUSE = 200;
const MAX_PAUSE = 10_000;
const RESUMABLE = ["logs", "newHeads", "transactionReceipts"];
/** Members with which a subscriber says by itself where to begin. */
const BOUNDS = ["fromBlock", "toBlock", "blockHash", "cursor", "cursors"];
/** Methods that may be sent twice; a second eth_sendRawTransaction is looked up. */
const REPEATABLE =
  /^(eth_(?!send|sign|submit|subscribe|unsubscribe|uninstall|getFilterChanges)|eth_sendRawTransaction$|net_|web3_|debug_(get|trace)|trace_|ots_|txpool_)/;
/** How a node refuses members that it does not know. */
const INVALID = [-32600, -32601, -32602];
const GONE = [-32001, 4444, ...INVALID];
/** How often a node that is behind is asked again for events after a cursor; it takes seconds to answer. */
const MAX_WAITS = 4;
/** Notices of a slow reader, whose events follow, and of a restart. */
const HARMLESS = [-32005, -32006];

/** Where a subscription goes on when it is made again: at a cursor, if the node has them. */
class Course {
  /** Whether notifications have cursors, which any subscription may find out. */
  #node: { cursors?: boolean };
  #wanted: any[];
  #miss: (cause?: any) => void;
  #asks = false;
  /** The position after the last notification. */
  #cursor?: string;
  /** The first block that did not exist at the beginning: where to go on as long as there is no cursor. */
  #start?: string;
  /** Whether to go on from there, rather than to begin with the present. */
  #resumes = false;
  #isPlain = false;
  #waits = 0;
  /** Whether the subscriber asked for cursors by itself, and stores them. */
  #needsCursors: boolean;

  /**
   * For the parameters of the first eth_subscribe; `miss` is called when events are missing. It begins at
   * their `cursor`; with `cursors` it begins with their `fromBlock`; else with the present.
   */
  constructor(node: { cursors?: boolean }, params: any[], miss: (cause?: any) => void) {
    const [kind, { cursor, cursors, fromBlock, ...options } = {} as any] = params;
    this.#node = node;
    this.#miss = miss;
    this.#needsCursors = RESUMABLE.includes(kind) && Boolean(cursor || cursors);
    this.#wanted = this.#needsCursors ? [kind, options] : params;
    if (!this.#needsCursors) return;
    this.#cursor = cursor;
    this.#start = fromBlock;
    this.#resumes = (cursor ?? fromBlock) !== undefined;
  }

  /** Resolves with the parameters of the next eth_subscribe. */
  async params(blockNumber: () => Promise<string>): Promise<any> {
    const [kind, options = {}] = this.#wanted;
    const isOwn = !this.#needsCursors && BOUNDS.some((name) => name in options);
    const isBound = !RESUMABLE.includes(kind) || isOwn;
    this.#asks = !isBound && !this.#isPlain && this.#node.cursors !== false;
    if (!this.#asks && (this.#cursor || this.#needsCursors)) this.#forget();
    if (!this.#asks) return this.#wanted;
    this.#start ??= `0x${(BigInt(await blockNumber()) + 1n).toString(16)}`;
    if (this.#cursor) return [kind, { ...options, cursor: this.#cursor }];
    return [kind, { ...options, cursors: true, ...(this.#resumes && { fromBlock: this.#start }) }];
  }

  /** Notes that the node has accepted them. */
  begin() {
    this.#resumes = true;
    this.#waits = 0;
    if (this.#isPlain) this.#node.cursors ??= false;
  }

  /** Takes the params of a notification; false if it has no result. */
  receives({ cursor, error, reorg }: any) {
    if (error?.data?.cursor) this.#cursor = error.data.cursor;
    if (error && !HARMLESS.includes(error.code)) this.#miss(error);
    if (error || reorg || !this.#asks) return !error && !reorg;
    if (!cursor && (this.#cursor || this.#needsCursors)) this.#forget();
    this.#node.cursors = cursor !== undefined;
    this.#cursor = cursor;
    return true;
  }

  /** Takes the node's refusal of the parameters; true if it may accept the next ones. */
  adapts(error: { code: number; data?: any }) {
    // A notification of another subscription may have said before this reply that there are no cursors.
    const isNew = this.#asks && !this.#needsCursors && !this.#cursor && !this.#node.cursors;
    if (isNew && INVALID.includes(error.code)) return (this.#isPlain = true);
    if (!this.#resumes || !GONE.includes(error.code)) return false;
    if (isBehind(error) && this.#waits++ < MAX_WAITS) return false;
    this.#node.cursors = undefined;
    this.#forget(error);
    return true;
  }

  #forget(cause?: any) {
    this.#cursor = this.#start = undefined;
    this.#resumes = this.#needsCursors = false;
    this.#miss(cause);
  }
}

/** Whether a node refuses because it is behind others of its chain, so that it may yet accept. */
const isBehind = (error: any) => error?.data?.behind === true;

/** Resolves after a time that grows with the attempts, and is not the same for all clients. */
const pause = (attempt: number) => {
  const longest = Math.min(MAX_PAUSE, MIN_PAUSE * 2 ** attempt);
  return new Promise((resolve) => setTimeout(resolve, longest * (0.5 + Math.random() / 2)));
};
