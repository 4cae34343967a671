/** The last blocks as bars: how many logs each brought, and whether it came live or after a drop. */

import { drawn, throttled } from "../lib/dom.js";
import { grouped } from "../lib/text.js";

const MAX_BLOCKS = 60;
const HEIGHT = 44;
const STEP = 10;

/** Draws the blocks of one subscription into an SVG element. */
export class Strip {
  #drawing;
  #blocks = new Map();
  #draw = throttled(() => this.#redraw());

  constructor(drawing) {
    this.#drawing = drawing;
    drawing.setAttribute("viewBox", `0 0 ${MAX_BLOCKS * STEP} ${HEIGHT}`);
    drawing.setAttribute("preserveAspectRatio", "none");
  }

  clear() {
    this.#blocks.clear();
    this.#draw();
  }

  /** Add a block, or some logs to one. */
  add({ number, logs, isReplayed }) {
    const block = this.#blocks.get(number) ?? { logs: 0, isReplayed };
    block.logs += logs;
    this.#blocks.set(number, block);
    if (this.#blocks.size > MAX_BLOCKS) this.#blocks.delete(Math.min(...this.#blocks.keys()));
    this.#draw();
  }

  #redraw() {
    const numbers = [...this.#blocks.keys()].sort((first, second) => first - second);
    const most = Math.max(1, ...numbers.map((number) => this.#blocks.get(number).logs));
    const bars = numbers.map((number, index) => this.#bar(number, MAX_BLOCKS - numbers.length + index, most));
    this.#drawing.replaceChildren(...bars);
    const replayed = numbers.filter((number) => this.#blocks.get(number).isReplayed).length;
    const range = numbers.length === 0 ? "no blocks yet" : `${numbers[0]} to ${numbers.at(-1)}`;
    this.#drawing.setAttribute("aria-label", `Blocks ${range}, ${replayed} of them caught up`);
  }

  #bar(number, place, most) {
    const { logs, isReplayed } = this.#blocks.get(number);
    const height = 4 + Math.round(((HEIGHT - 4) * logs) / most);
    const attributes = { x: place * STEP, y: HEIGHT - height, width: STEP - 2, height };
    const told = `block ${grouped(number)}: ${logs} logs, ${isReplayed ? "caught up" : "live"}`;
    return drawn("rect", { ...attributes, class: isReplayed ? "replayed" : "live" }, drawn("title", {}, told));
  }
}
