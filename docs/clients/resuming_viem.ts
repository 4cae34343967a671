/**
 * A viem transport whose subscriptions lose nothing. One line changes:
 *
 *     transport: resuming("ws://127.0.0.1:8545")        // was: webSocket("ws://127.0.0.1:8545")
 *
 * It connects again for as long as it takes, and continues each subscription at its cursor. Reads that were
 * under way are sent again; a call that could act twice fails with viem's SocketClosedError. On a node
 * without cursors a subscription begins again with the present. `onError` gets a HistoryGoneError if the node
 * cannot send again what was missed; later events follow.
 */
import * as viem from "viem";
import { type SocketRpcClient, getWebSocketRpcClient } from "viem/utils";

/** As for `webSocket`; `reconnect` has no effect. */
export type ResumingConfig = viem.WebSocketTransportConfig & {
  /** Milliseconds that a call waits for a connection; 60,000. */
  patience?: number;
  /** Calls that may wait for one; 10,000. */
  mostWaiting?: number;
};
type Connection = SocketRpcClient<WebSocket>;
/** Milliseconds that a connection may take to come about. */
const CONNECTING = 30_000;
type Wanted = { params: any; onData: (params: any) => void; onError?: (error: any) => void };

export class HistoryGoneError extends viem.BaseError {
  constructor(cause?: any) {
    const message = "Events are missing: the node does not have the history that follows the last one.";
    const reason = cause && new Error(cause.details ?? cause.message, { cause });
    super(message, { cause: reason, name: "HistoryGoneError" });
  }
}

/** Without a URL it is the chain's. */
export function resuming(url?: string, config: ResumingConfig = {}): viem.WebSocketTransport {
  const { key = "webSocket", name = "Resuming WebSocket JSON-RPC", methods, retryDelay } = config;
  return ({ chain, retryCount, timeout = config.timeout ?? 10_000 }) => {
    const address = url ?? chain?.rpcUrls.default.webSocket?.[0];
    if (!address) throw new viem.UrlRequiredError();
    const node = new Node(address, timeout, config);
    const { request, ...transport } = viem.createTransport(
      {
        ...{ key, name, methods, retryDelay, timeout, type: "webSocket" as const },
        retryCount: config.retryCount ?? retryCount,
        request: node.request as any,
      },
      {
        subscribe: node.subscribe as any,
        getSocket: async () => (await node.connected()).socket,
        getRpcClient: async () => Object.create(await node.connected(), { close: { value: node.close } }),
      },
    );
    // By itself viem would send any call again.
    const careful: any = (call: any, options: any) =>
      request(call, REPEATABLE.test(call.method) ? options : { ...options, retryCount: 0 });
    return { ...transport, request: careful };
  };
}

/** A node, to which there is a connection most of the time. */
class Node {
  /** Whether its notifications have cursors, once that is known. */
  cursors?: boolean;
  readonly url: string;
  readonly timeout: number;
  closed = false;
  #patience: number;
  #mostWaiting: number;
  #interval: number;
  #open?: Connection;
  #opening?: Promise<Connection>;
  #attempts = 0;
  #waiting = 0;
  #turn: Promise<any> = Promise.resolve();
  #heartbeat?: ReturnType<typeof setInterval>;

  constructor(url: string, timeout: number, config: ResumingConfig) {
    const { keepAlive = true, patience = 60_000, mostWaiting = 10_000 } = config;
    const { interval = 30_000 } = typeof keepAlive === "object" ? keepAlive : {};
    this.url = url;
    this.timeout = timeout;
    this.#patience = patience;
    this.#mostWaiting = mostWaiting;
    this.#interval = keepAlive ? interval : 0;
  }

  /** Resolves once there is a connection; rejects if all is over. */
  connected = () => (this.#opening ??= this.#connect());

  /** Resolves like `connected`, or rejects if too many calls wait, or this one has waited for too long. */
  async reached() {
    if (this.#open) return this.#open;
    const errorInstance = this.lost();
    if (this.#waiting >= this.#mostWaiting) throw errorInstance;
    this.#waiting++;
    return viem
      .withTimeout(this.connected, { timeout: this.#patience, errorInstance })
      .finally(() => this.#waiting--);
  }

  lost = () => new viem.SocketClosedError({ url: this.url });

  /** Ends everything for good. */
  close = () => {
    this.closed = true;
    if (this.#open) this.drop(this.#open);
  };

  /** Gives up a connection that is lost, or on which there is no answer. */
  drop(connection: Connection) {
    if (connection === this.#open) {
      clearInterval(this.#heartbeat);
      this.#open = this.#opening = undefined;
    }
    connection.close();
  }

  /** Resolves with a call's result, which may come over a later connection than the one it was sent on. */
  request = async ({ method, params }: { method: string; params?: any }): Promise<any> => {
    const body = { method, params };
    for (let isRepeated = false; ; isRepeated = true) {
      const connection = await this.reached();
      try {
        const { error, result } = await connection.requestAsync({ body, timeout: this.timeout });
        this.#attempts = 1;
        if (!error) return result;
        if (isRepeated && (await this.#isDone(method, params))) return viem.keccak256(params[0]);
        throw new viem.RpcRequestError({ body, error, url: this.url });
      } catch (error) {
        if (error instanceof viem.RpcRequestError || error instanceof viem.TimeoutError) throw error;
        this.drop(connection);
        // This error alone says that nothing was sent.
        const isSafe = REPEATABLE.test(method) || error instanceof viem.WebSocketRequestError;
        if (this.closed || !isSafe) throw this.lost();
      }
    }
  };

  /** Resolves once the node has replied; the subscription continues on each later connection. */
  subscribe = async (wanted: Wanted) => {
    const subscription = new Subscription(this, wanted);
    await subscription.begun;
    return {
      get subscriptionId() {
        return subscription.id;
      },
      unsubscribe: () => subscription.end(),
    };
  };

  /** Subscriptions are made one by one until the node is known: one without cursors refuses them once. */
  inTurn(subscribe: () => Promise<any>) {
    if (this.cursors !== undefined) return subscribe();
    return (this.#turn = this.#turn.then(subscribe, subscribe));
  }

  async #connect() {
    while (!this.closed) {
      if (this.#attempts > 0) await pause(this.#attempts);
      this.#attempts++;
      try {
        const open = () => getWebSocketRpcClient(this.url, { keepAlive: false, reconnect: false });
        return this.#watch(await viem.withTimeout(open, { timeout: CONNECTING }));
      } catch {
        // There is no node at the moment.
      }
    }
    throw this.lost();
  }

  /** A connection may be dead without a close: then calls are not answered. */
  #watch(connection: Connection) {
    this.#open = connection;
    const lose = () => this.drop(connection);
    connection.socket.addEventListener("close", lose);
    const beat = { body: { method: "net_version" }, timeout: this.timeout };
    if (this.#interval)
      this.#heartbeat = setInterval(() => connection.requestAsync(beat).catch(lose), this.#interval);
    return connection;
  }

  /** Whether a repeated call was refused because the first one had succeeded. */
  async #isDone(method: string, params: any) {
    if (method !== "eth_sendRawTransaction") return false;
    return this.request({ method: "eth_getTransactionByHash", params: [viem.keccak256(params[0])] });
  }
}

/** What viem watches, through all connections. */
class Subscription {
  id?: string;
  /** Rejects if the node refuses. */
  begun: Promise<void>;
  #node: Node;
  #wanted: Wanted;
  #course: Course;
  #connection?: Connection;
  #ended = false;
  #lose = () => {};

  constructor(node: Node, wanted: Wanted) {
    this.#node = node;
    this.#wanted = wanted;
    this.#course = new Course(node, wanted.params, (cause) => wanted.onError?.(new HistoryGoneError(cause)));
    this.begun = new Promise((resolve, reject) => this.#keep(resolve).catch(reject));
  }

  /** Resolves with the node's reply, as viem's own transport does. */
  async end() {
    this.#ended = true;
    this.#lose();
    const body = { method: "eth_unsubscribe", params: [this.id] };
    // Where the connection is lost there is nothing left to end.
    return this.#connection?.requestAsync({ body, timeout: this.#node.timeout }).catch(() => ({ result: true }));
  }

  async #keep(begun: () => void) {
    let refusals = 0;
    for (let isFirst = true; !this.#ended && !this.#node.closed; ) {
      try {
        const connection = await (isFirst ? this.#node.reached() : this.#node.connected());
        const lost = new Promise<void>((resolve) => (this.#lose = resolve));
        if (await this.#node.inTurn(() => this.#subscribe(connection))) {
          isFirst = false;
          refusals = 0;
          begun();
          await lost;
        }
        if (!this.#ended) this.#node.drop(connection);
      } catch (error) {
        if ((isFirst && !isBehind(error)) || this.#node.closed) throw error;
        await pause(++refusals);
      }
    }
  }

  /** Resolves with whether the node accepted before the connection was lost; rejects if it refuses. */
  async #subscribe(connection: Connection): Promise<unknown> {
    try {
      return await this.#attempt(connection);
    } catch (error) {
      if (error instanceof viem.RpcRequestError && this.#course.adapts(error)) return this.#subscribe(connection);
      throw error;
    }
  }

  async #attempt(connection: Connection) {
    const params = await this.#course.params(() => this.#node.request({ method: "eth_blockNumber" }));
    const body = { method: "eth_subscribe", params };
    return new Promise((resolve, reject) =>
      connection.request({
        body,
        onError: () => resolve(this.#lose()),
        onResponse: (message: any) => {
          if (message.method === "eth_subscription") return this.#receive(message.params);
          const { error, result } = message;
          if (error) return reject(new viem.RpcRequestError({ body, error, url: this.#node.url }));
          resolve(this.#begin(connection, result));
        },
      }),
    );
  }

  #begin(connection: Connection, id: string) {
    this.id = id;
    this.#connection = connection;
    this.#course.begin();
    if (this.#ended) this.end();
    return true;
  }

  #receive(params: any) {
    if (this.#ended || !this.#course.receives(params)) return;
    try {
      this.#wanted.onData(params);
    } catch (error) {
      this.#wanted.onError?.(error);
    }
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
