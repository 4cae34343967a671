/** The accounts and contracts of a development chain, to copy into a wallet or a program. */

import { byId, copyButton, element, setText } from "./lib/dom.js";

const KNOWN = "Everybody knows these keys: never send real funds to these accounts.";
const OWN = "The keys are of a phrase of your own, which the terminal shows.";

/** Show accounts with their keys, where they are everybody's, and contracts; nothing if there are none. */
export function showAccounts(accounts, contracts) {
  if (accounts.length === 0) return;
  byId("accounts").hidden = false;
  setText(byId("accounts-hint"), accounts[0].key === null ? OWN : KNOWN);
  byId("contracts").append(...Object.entries(contracts).map(([name, address]) => contract(name, address)));
  byId("accounts-rows").append(...accounts.map((account, index) => row(account, index)));
}

function contract(name, address) {
  const told = element("dd", {}, element("code", {}, address), copyButton(`Copy the ${name}`, () => address));
  return element("div", {}, element("dt", {}, `${name[0].toUpperCase()}${name.slice(1)}`), told);
}

function row({ address, key }, index) {
  const named = element("th", { scope: "row" }, element("code", {}, address));
  named.append(" ", copyButton(`Copy account ${index}`, () => address));
  const secret = element("td", {}, key === null ? "–" : element("code", {}, key));
  if (key !== null) secret.append(" ", copyButton(`Copy the key of account ${index}`, () => key));
  return element("tr", {}, named, secret);
}
