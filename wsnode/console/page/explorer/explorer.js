/** Every method of the node with a form of its parameters, the request and the reply as they are sent. */

import { announce, byId, copyButton, element, marked, setText } from "../lib/dom.js";
import { bytes, duration } from "../lib/text.js";
import { Form } from "./form.js";
import { indented } from "./indent.js";
import { InputError } from "./schema.js";

/** Of longer replies the rest is not shown: a browser takes seconds to lay out megabytes. */
const MAX_SHOWN = 60_000;
const FIRST = "eth_getBlockByNumber";

/** The panel; one method is chosen at a time. */
export class Explorer {
  #connection;
  #document = { methods: [], components: { schemas: {} } };
  #method = null;
  #form = null;
  #isWaiting = false;
  #reply = "";

  constructor(connection) {
    this.#connection = connection;
    byId("method-search").addEventListener("input", () => this.#list());
    byId("method-search").addEventListener("keydown", (event) => this.#enterList(event));
    byId("method-list").addEventListener("change", ({ target }) => this.choose(target.value));
    byId("call-form").addEventListener("submit", (event) => this.#submit(event));
    byId("reply-indented").addEventListener("change", () => this.#showReply());
    byId("request-tools").append(copyButton("Copy the request", () => byId("request").value));
    byId("reply-tools").append(copyButton("Copy the reply", () => this.#reply));
    connection.addEventListener("stray", ({ detail }) => this.#showNotification(detail));
  }

  /** Show the methods of an OpenRPC document; what is chosen stays so. */
  load(document) {
    this.#document = document;
    this.#list();
    if (this.#method === null) this.choose(this.#find(FIRST) ? FIRST : (document.methods[0]?.name ?? ""));
  }

  #find(name) {
    return this.#document.methods.find((method) => method.name === name);
  }

  #list() {
    const wanted = byId("method-search").value.trim().toLowerCase();
    const fits = ({ name, summary }) => `${name} ${summary}`.toLowerCase().includes(wanted);
    const groups = Map.groupBy(this.#document.methods.filter(fits), ({ name }) => name.split(/[_.]/)[0]);
    const options = [...groups].map(([prefix, methods]) => {
      const each = methods.map(({ name }) => element("option", { value: name }, name));
      return element("optgroup", { label: prefix }, ...each);
    });
    byId("method-list").replaceChildren(...options);
    const found = [...groups.values()].flat();
    setText(byId("method-count"), `${found.length} of ${this.#document.methods.length} methods`);
    if (found.some(({ name }) => name === this.#method?.name)) byId("method-list").value = this.#method.name;
    else byId("method-list").selectedIndex = -1;
  }

  /** Let the arrow and Enter lead from the search into what was found. */
  #enterList(event) {
    const list = byId("method-list");
    if (!["ArrowDown", "Enter"].includes(event.key) || list.options.length === 0) return;
    event.preventDefault();
    if (list.selectedIndex < 0) list.selectedIndex = 0;
    this.choose(list.value);
    list.focus();
  }

  /** Show the form of a method. */
  choose(name) {
    const method = this.#find(name);
    if (method === undefined) return;
    this.#method = method;
    byId("method-list").value = name;
    setText(byId("method-name"), name);
    byId("method-summary").replaceChildren(...marked(method.summary));
    this.#form = new Form(method, this.#document.components.schemas, () => this.#write());
    const none = element("p", { class: "hint" }, "No parameters.");
    byId("parameters").replaceChildren(...(this.#form.nodes.length === 0 ? [none] : this.#form.nodes));
    const errors = method.errors.map(({ code, message }) => element("li", {}, element("code", {}, code), ` ${message}`));
    byId("method-errors").replaceChildren(...errors);
    byId("errors").hidden = errors.length === 0;
    this.#write();
  }

  /** Write the request that the form describes; one that cannot be described is left out. */
  #write() {
    const name = JSON.stringify(this.#method.name);
    try {
      const parameters = this.#form.read();
      byId("request").value = `{"jsonrpc":"2.0","id":1,"method":${name},"params":${parameters}}`;
      setText(byId("call-status"), "");
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      byId("request").value = "";
    }
  }

  async #submit(event) {
    event.preventDefault();
    const text = byId("request").value.trim();
    if (text === "") {
      setText(byId("call-status"), "A needed parameter is empty, or one does not fit.");
      byId("parameters").querySelector("[aria-invalid=true], :invalid:not(fieldset)")?.focus();
    } else if (!this.#isWaiting) await this.#call(text);
  }

  async #call(text) {
    this.#isWaiting = true;
    setText(byId("call-status"), "Waiting for the reply…");
    byId("notification").hidden = true;
    try {
      const { text: reply, milliseconds } = await this.#connection.exchange(text, idOf(text));
      this.#reply = reply;
      const outcome = /^\{"jsonrpc":"2\.0","id":[^,]*,"error"/.test(reply) ? "Error" : "Result";
      setText(byId("call-status"), `${outcome} after ${duration(milliseconds / 1_000)}, ${bytes(reply.length)}`);
    } catch (error) {
      this.#reply = "";
      setText(byId("call-status"), `No reply: ${error.message}`);
    }
    this.#isWaiting = false;
    this.#showReply();
  }

  #showReply() {
    const shown = this.#reply.slice(0, MAX_SHOWN);
    const text = byId("reply-indented").checked ? indented(shown) : shown;
    const rest = this.#reply.length - shown.length;
    setText(byId("reply"), rest > 0 ? `${text}\n… and ${bytes(rest)} more, which “Copy” has` : text);
  }

  /** Show what comes for a subscription that was opened here. */
  #showNotification(text) {
    byId("notification").hidden = false;
    setText(byId("notification-text"), text.slice(0, MAX_SHOWN));
    announce("A notification came");
  }
}

/** Return the id of a request's text, or undefined where it has none, as a batch. */
function idOf(text) {
  try {
    return JSON.parse(text).id;
  } catch {
    return undefined;
  }
}
