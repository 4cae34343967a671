/** The last rows of a list that may grow faster than one can read. */

import { element, throttled } from "./dom.js";

/** Keeps the last items, and draws them newest first a few times a second. */
export class Rows {
  #body;
  #cells;
  #most;
  #items = [];
  #fresh = 0;
  #isPaused = false;
  #draw = throttled(() => this.#redraw());

  /** `cells` returns the contents of an item's cells: texts or elements. */
  constructor(body, cells, most) {
    this.#body = body;
    this.#cells = cells;
    this.#most = most;
  }

  /** How many items are kept. */
  get size() {
    return this.#items.length;
  }

  add(item) {
    this.#items.push(item);
    if (this.#items.length > this.#most) this.#items.shift();
    this.#fresh = Math.min(this.#fresh + 1, this.#items.length);
    this.refresh();
  }

  clear() {
    this.#items = [];
    this.refresh();
  }

  /** Draw soon, because an item has changed. */
  refresh() {
    if (!this.#isPaused) this.#draw();
  }

  /** Leave the rows as they are, or let them go on. */
  pause(isPaused) {
    this.#isPaused = isPaused;
    this.refresh();
  }

  #redraw() {
    // What was asked for before a pause may come due within it.
    if (this.#isPaused) return;
    const isFew = this.#fresh < this.#items.length;
    const rows = this.#items.map((item, index) => {
      const isNew = isFew && index >= this.#items.length - this.#fresh;
      const cells = this.#cells(item).map((content) => element("td", {}, content));
      return element("tr", { class: isNew ? "new" : null }, ...cells);
    });
    this.#fresh = 0;
    this.#body.replaceChildren(...rows.reverse());
  }
}
