/**
 * Values of the state, and results of contract calls, that are handed over again when they change: for viem
 * and ethers 6.
 *
 *     const unwatch = await watchState(client, { accounts: ["0x…"] }, ({ accounts }) => …);
 *     const unwatch = await watchCalls(client, [{ to: "0x…", data: "0x…" }], ({ results }) => …);
 *
 * `client` is a viem client or an ethers provider. Where the node has the subscription it is used: nothing is
 * asked for. Another node is polled: once a block all values are read at its hash. All values that are handed
 * over are those after the block that is named.
 */

export type Wanted = { accounts?: string[]; slots?: Record<string, string[]> };
export type Call = { to: string; data?: string; from?: string; value?: string; gas?: string };
/** The block after which the values are. */
export type Place = { blockNumber: number; blockHash: string; timestamp: number };
/** Quantities and 32 bytes, as the node writes them; `error` in place of all others. */
export type Account = {
  balance?: string;
  nonce?: string;
  codeHash?: string;
  slots?: Record<string, string>;
  error?: Failure;
};
export type Accounts = Record<string, Account>;
export type Failure = { code: number; message: string; data?: unknown };
export type Outcome = { result?: string; error?: Failure };
/** All values, by address in lower case; `changed` has those that differ from the last ones. */
export type State = Place & { accounts: Accounts; changed: Accounts };
/** All results, in the order of the calls; `changed` has the places of those that differ. */
export type Results = Place & { results: Outcome[]; changed: number[] };
export type Options = {
  /** Milliseconds between two looks at a node that is polled; 1,000. */
  interval?: number;
  /** Gets what fails later: a value that cannot be read, a lost connection. */
  onError?: (error: unknown) => void;
};

/** Resolves with what ends it, once the node has accepted, or is polled. */
export function watchState(client: any, wanted: Wanted, onState: (state: State) => void, options: Options = {}) {
  return watch(client, new StateBook(wanted), onState, options);
}

/** Resolves with what ends it, once the node has accepted, or is polled. */
export function watchCalls(client: any, calls: Call[], onResults: (results: Results) => void, options: Options = {}) {
  return watch(client, new CallBook(calls), onResults, options);
}

type Ask = (method: string, params: unknown[]) => Promise<any>;

/** What is held, and how it is asked for. */
interface Book<T> {
  params: [string, object];
  /** Takes what was sent or read; what is to be handed over, undefined if nothing has changed. */
  take(result: any): T | undefined;
  /** Reads everything at a block. */
  read(ask: Ask, block: { blockHash: string }): Promise<object>;
}

class StateBook implements Book<State> {
  params: [string, object];
  #accounts: Accounts = {};
  #isNew = true;
  #addresses: Map<string, { isWhole: boolean; slots: string[] }>;

  constructor({ accounts = [], slots = {} }: Wanted) {
    this.params = ["state", { accounts, slots }];
    this.#addresses = new Map();
    for (const address of accounts) this.#addresses.set(address.toLowerCase(), { isWhole: true, slots: [] });
    for (const [address, some] of Object.entries(slots)) {
      const { isWhole = false } = this.#addresses.get(address.toLowerCase()) ?? {};
      this.#addresses.set(address.toLowerCase(), { isWhole, slots: some.map(word) });
    }
  }

  take({ accounts, complete, ...block }: any): State | undefined {
    const changed = complete ? difference(this.#accounts, accounts) : accounts;
    if (!this.#isNew && !Object.keys(changed).length) return undefined;
    this.#isNew = false;
    const held: Accounts = { ...this.#accounts };
    for (const [address, change] of Object.entries<Account>(changed)) {
      const before: Account = held[address]?.error || change.error ? {} : (held[address] ?? {});
      held[address] = { ...before, ...change };
      if (before.slots || change.slots) held[address]!.slots = { ...before.slots, ...change.slots };
    }
    this.#accounts = held;
    return { ...placeOf(block), accounts: held, changed };
  }

  async read(ask: Ask, block: { blockHash: string }) {
    const one = async ([address, { isWhole, slots }]: [string, { isWhole: boolean; slots: string[] }]) => {
      const proof = await ask("eth_getProof", [address, slots, block]);
      const account: Account = {};
      if (isWhole) Object.assign(account, { nonce: proof.nonce, balance: proof.balance, codeHash: proof.codeHash });
      if (slots.length)
        account.slots = Object.fromEntries(slots.map((slot, i) => [slot, word(proof.storageProof[i].value)]));
      return [address, account] as const;
    };
    return { accounts: Object.fromEntries(await Promise.all([...this.#addresses].map(one))) };
  }
}

class CallBook implements Book<Results> {
  params: [string, object];
  #calls: Call[];
  #results: Outcome[] = [];

  constructor(calls: Call[]) {
    this.params = ["calls", { calls }];
    this.#calls = calls;
  }

  take({ results, complete: _, ...block }: any): Results | undefined {
    const isNew = !this.#results.length;
    const held = [...this.#results];
    const changed: number[] = [];
    for (const { index, ...outcome } of results) {
      if (same(held[index], outcome)) continue;
      held[index] = outcome;
      changed.push(index);
    }
    if (!isNew && !changed.length) return undefined;
    this.#results = held;
    return { ...placeOf(block), results: held, changed };
  }

  async read(ask: Ask, block: { blockHash: string }) {
    const one = async (call: Call, index: number) => {
      try {
        return { index, result: await ask("eth_call", [call, block]) };
      } catch (error) {
        // A call that reverts has that as its result; any other error is one of this look at the node.
        const failure = failureOf(error);
        if (failure?.code !== REVERTED) throw error;
        return { index, error: failure };
      }
    };
    return { results: await Promise.all(this.#calls.map(one)) };
  }
}

/** The code of geth, and of those that follow it, for a call that reverts. */
const REVERTED = 3;
/** How a node refuses a subscription that it does not have. */
const UNKNOWN = [-32601, -32602];

async function watch<T>(client: any, book: Book<T>, onChange: (change: T) => void, options: Options) {
  const node = nodeOf(client);
  const onError = options.onError ?? ((error: unknown) => console.error(error));
  const take = (result: any) => {
    const change = book.take(result);
    if (change) onChange(change);
  };
  try {
    if (node.subscribe) return await node.subscribe(book.params, take, onError);
  } catch (error) {
    if (!UNKNOWN.includes(failureOf(error)?.code ?? 0)) throw error;
  }
  return poll(node.ask, book, take, onError, options.interval ?? 1_000);
}

/** Reads all values once a block. */
function poll<T>(
  ask: Ask,
  book: Book<T>,
  take: (result: any) => void,
  onError: (error: unknown) => void,
  interval: number,
) {
  let hasEnded = false;
  let last: string | undefined;
  let timer: ReturnType<typeof setTimeout>;
  const look = async () => {
    try {
      const { number, hash, timestamp } = await ask("eth_getBlockByNumber", ["latest", false]);
      if (hash !== last) {
        // Of a block that leaves the chain meanwhile there are no values: the next look is at another one.
        const values = await book.read(ask, { blockHash: hash });
        last = hash;
        if (!hasEnded) take({ blockNumber: number, blockHash: hash, timestamp, complete: true, ...values });
      }
    } catch (error) {
      if (!hasEnded) onError(error);
    }
    if (!hasEnded) timer = setTimeout(look, interval);
  };
  void look();
  return async () => {
    hasEnded = true;
    clearTimeout(timer);
  };
}

type Node = {
  ask: Ask;
  subscribe?: (
    params: [string, object],
    take: (result: any) => void,
    onError: (error: unknown) => void,
  ) => Promise<() => Promise<void>>;
};

function nodeOf(client: any): Node {
  if (client.transport) {
    const ask: Ask = (method, params) => client.request({ method, params });
    const { subscribe } = client.transport;
    if (!subscribe) return { ask };
    return {
      ask,
      subscribe: async (params, take, onError) => {
        let hasBegun = false;
        const { unsubscribe } = await subscribe({
          params,
          onData: ({ result }: any) => take(result),
          // A refusal is also what this rejects with.
          onError: (error: unknown) => hasBegun && onError(error),
        });
        hasBegun = true;
        return async () => void (await unsubscribe());
      },
    };
  }
  const ask: Ask = (method, params) => client.send(method, params);
  if (!client._register) return { ask };
  return {
    ask,
    subscribe: async (params, take) => {
      const id = await client.send("eth_subscribe", params);
      let hasEnded = false;
      client._register(id, { _handleMessage: (result: any) => hasEnded || take(result) });
      return async () => {
        hasEnded = true;
        await client.send("eth_unsubscribe", [id]);
      };
    },
  };
}

/** The node's error in that of a library, which may be the cause of another one. */
function failureOf(error: any, depth = 0): Failure | undefined {
  if (!error || typeof error !== "object" || depth > 8) return undefined;
  const inner = [error.error, error.info?.error, error.cause].map((one) => failureOf(one, depth + 1)).find(Boolean);
  if (inner) return inner;
  if (typeof error.code !== "number") return undefined;
  const { code, message, data } = error;
  return { code, message: error.details ?? message, ...(data !== undefined && { data }) };
}

function difference(before: Accounts, after: Accounts): Accounts {
  const changed: Accounts = {};
  for (const [address, { slots, ...members }] of Object.entries(after)) {
    const { slots: old = {}, ...known } = before[address] ?? ({} as Account);
    const change: any = Object.fromEntries(
      Object.entries(members).filter(([name, value]) => !same((known as any)[name], value)),
    );
    const others = Object.entries(slots ?? {}).filter(([slot, value]) => old[slot] !== value);
    if (others.length) change.slots = Object.fromEntries(others);
    if (Object.keys(change).length) changed[address] = change;
  }
  return changed;
}

const same = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);
const word = (text: string) => `0x${text.slice(2).toLowerCase().padStart(64, "0")}`;
const placeOf = ({ blockNumber, blockHash, timestamp }: any): Place => ({
  blockNumber: Number(blockNumber),
  blockHash,
  timestamp: Number(timestamp),
});
