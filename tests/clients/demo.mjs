/** What the scripts share: the node's address, and what they know about the demo chain. */
import { readFileSync } from "node:fs";

export const url = process.argv[2];
export const demo = JSON.parse(readFileSync(new URL("demo.json", import.meta.url)));

/** The numbers from `first` to `last`, both included. */
export const numbers = (first, last) => Array.from({ length: last - first + 1 }, (_, place) => first + place);

/** Balances of all who take part in `transfers` of `{ from, to, value }`. */
export function balancesAfter(transfers) {
  const balances = new Map();
  const add = (account, value) => balances.set(account, (balances.get(account) ?? 0n) + value);
  for (const { from, to, value } of transfers) {
    add(from, -value);
    add(to, value);
  }
  return balances;
}
