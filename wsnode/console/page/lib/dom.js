/** Elements made and found, and words for screen readers. */

const SVG = "http://www.w3.org/2000/svg";
const ANNOUNCEMENT_PAUSE = 3_000;

/** Return the element with an id; a missing one is a mistake of ours, so it is an error. */
export function byId(id) {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`no element #${id}`);
  return found;
}

/** Return a new element: attributes by name, listeners as `onclick`, and children, text among them. */
export function element(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/** Return a new element of a drawing. */
export function drawn(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

function fill(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

/** Return a text's nodes, what stands between backticks as code. */
export function marked(text) {
  return text.split("`").map((part, index) => (index % 2 === 0 ? part : element("code", {}, part)));
}

/** Set a text, and leave a text alone that is already there: a change costs a layout. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/**
 * Return a function that runs `draw` soon after it is called, at most every `milliseconds`, and never while
 * the page is hidden.
 */
export function throttled(draw, milliseconds = 250) {
  let isDue = false;
  let last = -Infinity;
  function run() {
    isDue = false;
    last = performance.now();
    draw();
  }
  return () => {
    if (isDue) return;
    isDue = true;
    const wait = Math.max(0, last + milliseconds - performance.now());
    setTimeout(() => requestAnimationFrame(run), wait);
  };
}

let announcement = null;

/** Have a screen reader say a text once it is free; of several within seconds it says the last one. */
export function announce(text) {
  if (announcement === null) {
    setTimeout(() => {
      setText(byId("announcer"), announcement);
      announcement = null;
    }, ANNOUNCEMENT_PAUSE);
  }
  announcement = text;
}

/** Return a button that copies what `text()` returns, and says for a moment whether it could. */
export function copyButton(label, text) {
  const button = element("button", { type: "button", class: "quiet", "aria-label": label }, "Copy");
  button.addEventListener("click", async () => {
    setText(button, await copied(text()) ? "Copied" : "Not allowed");
    setTimeout(() => setText(button, "Copy"), 1_500);
  });
  return button;
}

async function copied(text) {
  try {
    // Browsers have no clipboard for pages that came without encryption from another machine.
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
