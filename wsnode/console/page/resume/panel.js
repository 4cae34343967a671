/** The panel of a run: begin it, drop its connection, and see that nothing is missing and nothing twice. */

import { announce, byId, element, setText, throttled } from "../lib/dom.js";
import { grouped } from "../lib/text.js";
import { BLOCKS_BEFORE, Run } from "./run.js";
import { Strip } from "./strip.js";

const MAX_ENTRIES = 6;

/** Shows one run at a time. */
export class ResumePanel {
  #url;
  #node;
  #head;
  #run = null;
  #strip = new Strip(byId("resume-strip"));
  #show = throttled(() => this.#redraw());

  /** `node` is the page's own connection, and `head` returns the number of the last block told there. */
  constructor(url, node, head) {
    this.#url = url;
    this.#node = node;
    this.#head = head;
    byId("resume-start").addEventListener("click", () => (this.#run === null ? this.#start() : this.#stop()));
    byId("resume-drop").addEventListener("click", () => this.#run?.drop(Number(byId("resume-away").value)));
  }

  /** Let a run begin as soon as a head is known. */
  enable() {
    byId("resume-start").disabled = false;
  }

  #start() {
    const first = Math.max(0, this.#head() - BLOCKS_BEFORE + 1);
    this.#strip.clear();
    byId("resume-journal").replaceChildren();
    const run = new Run(this.#url, this.#node, this.#head, first);
    run.addEventListener("note", ({ detail }) => this.#note(detail));
    run.addEventListener("block", ({ detail }) => this.#strip.add(detail));
    run.addEventListener("anew", () => this.#strip.clear());
    run.addEventListener("change", () => this.#change());
    this.#run = run;
    setText(byId("resume-start"), "Stop");
    this.#note(`Subscribed to heads and logs from block ${grouped(first)} on`);
    this.#change();
  }

  #stop() {
    const run = this.#run;
    this.#run = null;
    run.stop();
    setText(byId("resume-start"), "Subscribe");
    this.#change();
    this.#note("Stopped");
    setText(byId("resume-state"), "Stopped");
  }

  #change() {
    // A disabled button would lose the focus of a user who drops again and again by keyboard.
    byId("resume-drop").setAttribute("aria-disabled", String(!this.#run?.isConnected));
    this.#show();
  }

  #note(text) {
    const time = element("time", {}, new Date().toLocaleTimeString("en-GB"));
    const journal = byId("resume-journal");
    journal.prepend(element("li", {}, time, ` ${text}`));
    if (journal.childElementCount > MAX_ENTRIES) journal.lastElementChild.remove();
    announce(text);
  }

  #redraw() {
    const run = this.#run;
    if (run === null) return;
    setText(byId("resume-state"), run.isConnected ? "Connected" : "Dropped");
    for (const [name, tally] of Object.entries({ heads: run.heads, logs: run.logs })) {
      for (const count of ["received", "missing", "twice"]) {
        const cell = byId(`resume-${name}-${count}`);
        setText(cell, grouped(tally[count]));
        cell.classList.toggle("bad", count !== "received" && tally[count] > 0);
      }
    }
    setText(byId("resume-drops"), grouped(run.drops));
    setText(byId("resume-caught-up"), grouped(run.caughtUp));
    setText(byId("resume-checked"), run.settled < run.first ? "–" : grouped(run.settled));
    setText(byId("resume-cursor"), run.cursors.logs ?? run.cursors.newHeads ?? "none yet");
  }
}
