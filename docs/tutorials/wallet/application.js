/** A small application: it finds wallets by EIP-6963, shows accounts and blocks, sends, and adds the node. */
"use strict";

const shown = (id) => document.getElementById(id);
const wallets = new Map();
let node;
let wallet;
let heads;

function say(text) {
  shown("state").textContent = text;
}

/** Runs what a button does, and shows why it failed. */
function onClick(id, action) {
  shown(id).addEventListener("click", () => action().catch((error) => say(`${error.message} (${error.code})`)));
}

addEventListener("eip6963:announceProvider", ({ detail: { info, provider } }) => {
  if (wallets.has(info.uuid)) return;
  wallets.set(info.uuid, provider);
  shown("wallets").append(new Option(info.name, info.uuid));
});
dispatchEvent(new Event("eip6963:requestProvider"));

onClick("connect", async () => {
  node?.close();
  const provider = (node = new NodeProvider(shown("node").value));
  provider.on("connect", ({ chainId }) => say(`connected to chain ${Number(chainId)}`));
  // The end of the connection before is no news of this one.
  provider.on("disconnect", ({ message }) => provider === node && say(message));
  announce(provider, "My own node");
  shown("wallets").selectedIndex = shown("wallets").length - 1;
});

onClick("use", async () => {
  wallet = wallets.get(shown("wallets").value);
  const accounts = await wallet.request({ method: "eth_requestAccounts" });
  shown("from").replaceChildren(...accounts.map((account) => new Option(account)));
  if (accounts.length === 0) say("the node holds no keys: use a wallet that does");
  wallet.on("message", onMessage);
  heads = await wallet.request({ method: "eth_subscribe", params: ["newHeads"] });
  await showBalance();
});

async function onMessage({ type, data: { subscription, result } }) {
  if (type === "history_gone") say("blocks are missing: the node does not have them any more");
  if (type !== "eth_subscription" || subscription !== heads) return;
  const line = document.createElement("li");
  line.textContent = Number(result.number);
  shown("heads").prepend(line);
  await showBalance();
}

async function showBalance() {
  const balance = await wallet.request({ method: "eth_getBalance", params: [shown("from").value, "latest"] });
  // Six digits of an ether.
  shown("balance").textContent = Number(BigInt(balance) / 10n ** 12n) / 1e6;
}

onClick("send", async () => {
  const value = `0x${(BigInt(Math.round(Number(shown("amount").value) * 1e6)) * 10n ** 12n).toString(16)}`;
  const transaction = { from: shown("from").value, to: shown("to").value, value };
  shown("sent").textContent = await wallet.request({ method: "eth_sendTransaction", params: [transaction] });
});

onClick("add", async () => {
  const url = new URL(shown("node").value);
  url.protocol = url.protocol === "wss:" ? "https:" : "http:";
  const asked = { jsonrpc: "2.0", id: 1, method: "eth_chainId" };
  const headers = { "Content-Type": "application/json" };
  const reply = await fetch(url, { method: "POST", headers, body: JSON.stringify(asked) });
  const chain = {
    chainId: (await reply.json()).result,
    chainName: "My own node",
    rpcUrls: [url.href],
    nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 },
  };
  await wallets.get(shown("wallets").value).request({ method: "wallet_addEthereumChain", params: [chain] });
  say("the wallet has the chain");
});
