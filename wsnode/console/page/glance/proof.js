/** What proves the head, where it is proved: the signed block and the final one, and the beacon nodes. */

import { byId, element, setText } from "../lib/dom.js";
import { age, grouped, shortened } from "../lib/text.js";

const STATUS_MILLISECONDS = 4_000;

/** Fills the panel of proofs, which stays hidden where the head is not proved. */
export class Proof {
  #connection;
  #isShown = false;

  constructor(connection) {
    this.#connection = connection;
    connection.addEventListener("open", () => this.#read());
    setInterval(() => this.#isShown && !document.hidden && this.#read(), STATUS_MILLISECONDS);
  }

  async #read() {
    if (!this.#connection.isOpen) return;
    let status;
    try {
      status = await this.#connection.call("wsnode_status");
    } catch {
      return;
    }
    // A worker says the rest once the process that follows has answered.
    if (status.beacon === undefined) return;
    this.#isShown = true;
    byId("proof").hidden = false;
    this.#show(status.beacon);
  }

  #show(beacon) {
    const { state, reason, proved, finalized, urls } = beacon;
    setText(byId("proof-state"), reason === undefined ? state : `${state}: ${reason}`);
    const line = proved === undefined ? ["nothing is proved yet"] : [...provedParts(beacon), "; final ", hash(finalized)];
    byId("proof-head").replaceChildren(...line);
    byId("proof-urls").replaceChildren(...urls.map(row));
  }
}

function provedParts({ proved, participation, committeeSize, clockSlot, slotSeconds }) {
  const seconds = (clockSlot - proved.slot) * slotSeconds;
  const signed = `${grouped(participation)} of ${grouped(committeeSize)} signed`;
  return ["proved ", hash(proved), ` (slot ${grouped(proved.slot)}, ${signed}), ${age(seconds)} ago`];
}

/** Return the hash of a header's execution block, or of the header where it has none. */
function hash(header) {
  const found = header.hash ?? header.root;
  return element("code", { title: found }, shortened(found));
}

function row({ url, state, attestedSlot, lag, failures, why }) {
  const slots = [attestedSlot, lag].map((number) => (number === null ? "–" : grouped(number)));
  const texts = [url, state, ...slots, grouped(failures), why ?? ""];
  return element("tr", {}, ...texts.map((text) => element("td", {}, text)));
}
