/** The page: one connection, and the panels that show what comes over it. */

import { showAccounts } from "./accounts.js";
import { Explorer } from "./explorer/explorer.js";
import { Glance } from "./glance/glance.js";
import { Proof } from "./glance/proof.js";
import { CallTextError, parseCall } from "./lib/abi.js";
import { Connection } from "./lib/connection.js";
import { announce, byId, copyButton, element, setText, throttled } from "./lib/dom.js";
import { grouped, precise, quantity } from "./lib/text.js";
import { WatchedCall } from "./live/call.js";
import { Heads } from "./live/heads.js";
import { Logs } from "./live/logs.js";
import { ResumePanel } from "./resume/panel.js";
import { offerWallet } from "./wallet.js";

const MAX_KNOWN = 12;
const ADDRESS = /^0x[0-9a-fA-F]{40}$/;

const settings = await (await fetch("console/settings.json")).json();
if (settings.keys) askForKey();
else begin("");

/** Ask for a key, which is kept in this page's memory alone. */
function askForKey() {
  byId("key-form").hidden = false;
  byId("key-form").addEventListener("submit", (event) => {
    event.preventDefault();
    tryKey(encodeURIComponent(byId("key").value.trim()));
  });
}

/** Begin with a key that the node knows. */
async function tryKey(key) {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "rpc_modules", params: [] });
  const request = { method: "POST", headers: { "Content-Type": "application/json" }, body };
  const answer = await fetch(`v3/${key}`, request).catch(() => null);
  if (answer === null) setText(byId("key-problem"), "The node cannot be reached.");
  else if (answer.status === 401) setText(byId("key-problem"), "The node does not know this key.");
  else {
    byId("key-form").hidden = true;
    begin(key);
  }
}

/** Return the addresses of the node for WebSocket and HTTP, with a key in their paths if there is one. */
function addresses(key) {
  const path = key === "" ? ["./", "./"] : [`ws/v3/${key}`, `v3/${key}`];
  const [socket, http] = path.map((each) => new URL(each, document.baseURI));
  socket.protocol = location.protocol === "https:" ? "wss:" : "ws:";
  return { socket: socket.href, http: http.href };
}

function begin(key) {
  const { socket, http } = addresses(key);
  const connection = new Connection(socket);
  const page = { connection, chain: null, head: null };
  showConnection(connection);
  showAddresses({ HTTP: http, WebSocket: socket }, key !== "");
  showAccounts(settings.accounts, settings.contracts);
  offerWallet(() => page.chain && { ...page.chain, rpcUrls: [http] });
  const glance = new Glance(connection, settings.metrics);
  new Proof(connection);
  const explorer = new Explorer(connection);
  const resume = new ResumePanel(socket, connection, () => page.head ?? 0);
  connection.addEventListener("open", () => introduce(page, explorer));
  const told = ({ number, timestamp, hash }) => {
    page.head = quantity(number);
    glance.showHead(page.head, quantity(timestamp));
    know("known-hashes", hash);
    resume.enable();
  };
  showLive(connection, told);
  showWatchedCall(connection);
  connection.open();
}

/** Ask the node who it is and what it can, each time that it is reached: it may be another one by now. */
async function introduce(page, explorer) {
  const ask = (method) => page.connection.call(method).catch(() => null);
  const methods = ["rpc.discover", "eth_chainId", "eth_accounts", "wsnode_status"];
  const [document, id, accounts, status] = await Promise.all(methods.map(ask));
  if (document !== null) explorer.load(document);
  for (const account of accounts ?? []) know("known-addresses", account);
  setText(byId("version"), document?.info.version ?? "");
  if (id === null) return;
  const { name, family } = status?.chain ?? {};
  const known = [name, family].filter(Boolean).join(", ");
  setText(byId("chain"), `chain ${quantity(id)}${known && ` (${known})`}`);
  setText(byId("chain-id"), String(quantity(id)));
  const nativeCurrency = { name: "Ether", symbol: "ETH", decimals: 18 };
  page.chain = { chainId: id, chainName: `wsnode ${quantity(id)}`, nativeCurrency };
}

function showConnection(connection) {
  const state = byId("state");
  const show = (kind, text) => {
    state.dataset.state = kind;
    setText(state, text);
    announce(text);
  };
  connection.addEventListener("open", () => show("open", "Connected"));
  connection.addEventListener("close", ({ detail }) => {
    const reason = detail.reason === "" ? "" : ` (${detail.reason})`;
    show("closed", `Disconnected${reason}, trying again`);
  });
}

function showAddresses(named, hasKey) {
  for (const [name, url] of Object.entries(named)) {
    const value = element("code", {}, hasKey ? url.replace(/[^/]*$/, "…") : url);
    const row = element("div", {}, element("dt", {}, name), element("dd", {}, value, copyButton(`Copy ${name}`, () => url)));
    byId("addresses").prepend(row);
  }
}

function showLive(connection, told) {
  const heads = new Heads(connection, byId("heads"));
  heads.follow(told, showWithoutBlocks);
  const showCount = throttled(() => {
    const { received, shown } = logs;
    setText(byId("logs-count"), `${grouped(received)} received, the last ${grouped(shown)} shown`);
  });
  const logs = new Logs(connection, byId("logs"), (log) => {
    showCount();
    if (log !== undefined) know("known-contracts", log.address);
  });
  setInterval(() => setText(byId("logs-rate"), `${precise(logs.rate())} a second`), 1_000);
  logs.watch({}, () => {});
  byId("logs-filter").addEventListener("submit", (event) => {
    event.preventDefault();
    const address = byId("logs-address").value.trim();
    const isRight = address === "" || ADDRESS.test(address);
    byId("logs-address").setAttribute("aria-invalid", String(!isRight));
    setText(byId("logs-problem"), isRight ? "" : "An address has 0x and 40 digits.");
    if (isRight) logs.watch(address === "" ? {} : { address }, ({ message }) => setText(byId("logs-problem"), message));
  });
  byId("pause").addEventListener("click", ({ currentTarget: button }) => {
    const isPaused = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", String(isPaused));
    setText(button, isPaused ? "Go on" : "Pause");
    heads.pause(isPaused);
    logs.pause(isPaused);
  });
}

/** A call to the demo's exchange stands there as an example. */
function showWatchedCall(connection) {
  const [contract, call] = [byId("watch-contract"), byId("watch-call")];
  const complain = (text, field) => {
    for (const each of [contract, call]) each.setAttribute("aria-invalid", String(each === field));
    setText(byId("watch-problem"), text);
  };
  const watched = new WatchedCall(connection, byId("watch-rows"), () => {
    setText(byId("watch-count"), `${grouped(watched.received)} results`);
  });
  if (settings.contracts.exchange !== undefined) {
    [contract.value, call.value] = [settings.contracts.exchange, "etherReserve()"];
  }
  byId("watch-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const address = contract.value.trim();
    if (!ADDRESS.test(address)) return complain("An address has 0x and 40 digits.", contract);
    try {
      watched.watch(address, parseCall(call.value), ({ message }) => complain(message));
      complain("");
    } catch (error) {
      if (!(error instanceof CallTextError)) throw error;
      complain(error.message, call);
    }
  });
}

/** A network may have no chain whose blocks and logs these panels know. */
function showWithoutBlocks() {
  for (const id of ["live", "watch", "resume", "wallet"]) byId(id).hidden = true;
  byId("no-blocks").hidden = false;
}

/** Offer a text in forms, of the last few. */
function know(list, text) {
  const options = byId(list);
  if ([...options.children].some(({ value }) => value === text)) return;
  options.prepend(element("option", { value: text }));
  if (options.childElementCount > MAX_KNOWN) options.lastElementChild.remove();
}
