/** A number with its name, and how it went in the last minutes. */

import { byId, drawn, element, setText } from "../lib/dom.js";

const MAX_READINGS = 60;
/** A line of fewer points than these does not fill its width. */
const FEW = 15;
const WIDTH = 120;
const HEIGHT = 22;

/** A tile of the list of figures. */
export class Tile {
  #value = element("span", {}, "–");
  #line = drawn("polyline", {});
  #history = [];

  constructor(name, explanation) {
    const view = { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" };
    const figure = element("dd", {}, this.#value, drawn("svg", view, this.#line));
    byId("glance-tiles").append(element("div", { title: explanation }, element("dt", {}, name), figure));
  }

  /** Show a text; with a number, go on with the line. */
  show(text, number = null) {
    setText(this.#value, text);
    if (number === null || !Number.isFinite(number)) return;
    this.#history.push(number);
    if (this.#history.length > MAX_READINGS) this.#history.shift();
    const most = Math.max(...this.#history) || 1;
    const step = WIDTH / (Math.max(FEW, this.#history.length) - 1);
    const start = WIDTH - (this.#history.length - 1) * step;
    const points = this.#history.map((each, index) => {
      const height = HEIGHT - 1 - (each / most) * (HEIGHT - 2);
      return `${(start + index * step).toFixed(1)},${height.toFixed(1)}`;
    });
    this.#line.setAttribute("points", points.join(" "));
  }
}
