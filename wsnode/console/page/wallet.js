/** Adding the chain to a wallet in the browser (EIP-3085), found as EIP-1193 and EIP-6963 say. */

import { announce, byId, element, setText } from "./lib/dom.js";

const NO_WALLET =
  "This browser has no wallet that pages can ask. Install one, or add a network by hand in yours, with the values here.";
const REFUSED = 4001;

const announced = new Map();
addEventListener("eip6963:announceProvider", ({ detail }) => announced.set(detail.info.uuid, detail));

/** Let a button add the chain to the wallet, or to each of several. */
export function offerWallet(chain) {
  dispatchEvent(new Event("eip6963:requestProvider"));
  byId("wallet-add").addEventListener("click", () => add(chain()));
}

function wallets() {
  const found = [...announced.values()].map(({ info, provider }) => ({ name: info.name, provider }));
  if (found.length > 0) return found;
  return globalThis.ethereum === undefined ? [] : [{ name: "the wallet", provider: globalThis.ethereum }];
}

function add(chain) {
  const found = wallets();
  if (chain === null) say("Not connected: the chain's id is not known yet.");
  else if (found.length === 0) say(NO_WALLET);
  else if (found.length === 1) ask(found[0], chain);
  else offer(found, chain);
}

function offer(found, chain) {
  const buttons = found.map((wallet) =>
    element("button", { type: "button", onclick: () => ask(wallet, chain) }, wallet.name),
  );
  byId("wallet-choice").replaceChildren(...buttons);
  say("Which one?");
}

async function ask({ name, provider }, chain) {
  byId("wallet-choice").replaceChildren();
  say(`Asking ${name}…`);
  try {
    await provider.request({ method: "wallet_addEthereumChain", params: [chain] });
    say(`Added to ${name}.`);
  } catch (error) {
    say(error.code === REFUSED ? `Not added: declined in ${name}.` : `Not added: ${error.message}`);
  }
}

function say(text) {
  setText(byId("wallet-status"), text);
  announce(text);
}
