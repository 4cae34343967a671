/** node ledger.ts URL ADDRESS DATABASE: all logs of a contract in a table, whatever dies when. */
import { DatabaseSync } from "node:sqlite";
import { type RpcLog, createPublicClient } from "viem";
import { HistoryGoneError, resuming } from "./resuming_viem.ts";

/** Milliseconds that the bot waits for a node before it gives up. */
const PATIENCE = 24 * 60 * 60 * 1000;
/** Others may read the file meanwhile, for which SQLite waits only if it is asked to. */
const TABLES = `
PRAGMA busy_timeout = 60000;
CREATE TABLE IF NOT EXISTS logs (
  number INTEGER, block TEXT, place INTEGER, hash TEXT, topics TEXT, data TEXT, PRIMARY KEY (block, place)
);
CREATE TABLE IF NOT EXISTS position (cursor TEXT);
`;

class Ledger {
  #database: DatabaseSync;

  constructor(path: string) {
    this.#database = new DatabaseSync(path);
    this.#database.exec(TABLES);
  }

  /** The cursor after the last log that was taken, undefined at the very beginning. */
  get cursor() {
    const found = this.#database.prepare("SELECT cursor FROM position").get();
    return (found as { cursor: string } | undefined)?.cursor;
  }

  /** Stores what a log does, and the position after it: both or neither. */
  take(log: RpcLog, cursor: string) {
    this.#database.exec("BEGIN IMMEDIATE");
    try {
      this.#apply(log);
      this.#database.exec("DELETE FROM position");
      this.#database.prepare("INSERT INTO position VALUES (?)").run(cursor);
      this.#database.exec("COMMIT");
    } catch (error) {
      this.#database.exec("ROLLBACK");
      throw error;
    }
  }

  #apply({ blockNumber, blockHash, logIndex, transactionHash, topics, data, removed }: RpcLog) {
    const place = [blockHash, Number(logIndex)];
    if (removed) this.#database.prepare("DELETE FROM logs WHERE block = ? AND place = ?").run(...place);
    else {
      const values = [Number(blockNumber), ...place, transactionHash, JSON.stringify(topics), data];
      this.#database.prepare("INSERT INTO logs VALUES (?, ?, ?, ?, ?, ?)").run(...values);
    }
  }
}

/** Formats the number and the hash of a log's block, marked if a reorganisation takes the block back. */
function line({ blockNumber, blockHash, removed }: RpcLog): string {
  return `block ${Number(blockNumber)}  ${blockHash}${removed ? "  taken back" : ""}`;
}

/** Ends the bot: another start continues where it was, or says the same again. */
function end(error: Error): never {
  if (error instanceof HistoryGoneError) {
    console.error(`the ledger has a gap: ${error.details ?? "the node has no cursors"}`);
  } else {
    console.error(error.message);
  }
  process.exit(1);
}

const [url, address, path] = process.argv.slice(2);
const ledger = new Ledger(path!);
const client = createPublicClient({ transport: resuming(url, { patience: PATIENCE }) });
const cursor = ledger.cursor;
const begin = cursor ? { cursor } : { cursors: true, fromBlock: "earliest" };
let printed = "";
const onData = ({ result, cursor }: any) => {
  ledger.take(result, cursor);
  if (line(result) !== printed) console.log((printed = line(result)));
};
// viem's types do not know cursors.
const params: any = ["logs", { address, ...begin }];
await client.transport.subscribe({ params, onData, onError: end }).catch(end);
