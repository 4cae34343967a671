/** The form of a method's parameters. */

import { element, marked, setText } from "../lib/dom.js";
import { ABSENT, controlOf, InputError, objectText, parametersText, read } from "./schema.js";

/** What is filled in beforehand, so that a method can be tried at once. */
const USUAL = "latest";

/** Builds the fields of one method, and reads them. */
export class Form {
  #method;
  #fields;

  /** `changed` is called after each change. */
  constructor(method, components, changed) {
    this.#method = method;
    this.#fields = method.params.map(({ name, required = false, schema }) => {
      return fieldOf({ name, required, control: controlOf(schema, components) }, changed, "parameter");
    });
    this.nodes = this.#fields.map(({ node }) => node);
  }

  /** Return the text of the parameters; throws InputError after marking the fields that are wrong. */
  read() {
    const texts = this.#fields.map((field) => field.read());
    if (texts.includes(null)) throw new InputError("a parameter does not fit its schema");
    return parametersText(this.#method, texts);
  }
}

function fieldOf(member, changed, path) {
  return member.control.kind === "object" ? objectField(member, changed, path) : plainField(member, changed, path);
}

function objectField({ name, required, control }, changed, path) {
  const fields = control.members.map((member) => fieldOf(member, changed, `${path}-${name}`));
  const grid = element("div", { class: "grid" }, ...fields.map(({ node }) => node));
  const about = control.description ? element("p", { class: "hint" }, ...marked(control.description)) : "";
  return {
    node: frame(name, required, [about, grid]),
    read() {
      const texts = fields.map((field) => field.read());
      if (texts.includes(null)) return null;
      const isEmpty = texts.every((text) => text === ABSENT);
      if (isEmpty && !required) return ABSENT;
      return objectText(control.members.map((member, index) => [member.name, texts[index]]));
    },
  };
}

/** Return a group of fields, which is closed as long as an optional one is not asked for. */
function frame(name, required, content) {
  const label = [element("code", {}, name), note(required)];
  if (required) return element("fieldset", {}, element("legend", {}, ...label), ...content);
  const group = { role: "group", "aria-label": name };
  return element("details", { class: "group" }, element("summary", {}, ...label), element("div", group, ...content));
}

function plainField({ name, required, control }, changed, path) {
  const id = `${path}-${name}`;
  const problem = element("p", { class: "problem", id: `${id}-problem` });
  const hint = { class: "hint", id: `${id}-hint` };
  const about = control.description ? element("p", hint, ...marked(control.description)) : "";
  const described = [about === "" ? null : `${id}-hint`, `${id}-problem`].filter((each) => each !== null).join(" ");
  const input = inputOf(control, required, { id, "aria-describedby": described });
  input.addEventListener("input", changed);
  const label = element("label", { for: id }, element("code", {}, name), note(required));
  return {
    node: element("div", { class: "field" }, label, input, about, problem),
    read() {
      const [text, wrong] = attempt(control, input.value, required);
      // An empty field is no mistake yet.
      const shown = input.value === "" ? "" : wrong;
      input.setAttribute("aria-invalid", String(shown !== ""));
      setText(problem, shown);
      return text;
    },
  };
}

/** Return a JSON text or null, and what is wrong with what was typed. */
function attempt(control, typed, required) {
  try {
    const text = read(control, typed);
    return required && text === ABSENT ? [null, "needed"] : [text, ""];
  } catch (error) {
    if (error instanceof InputError) return [null, error.message];
    throw error;
  }
}

function inputOf(control, required, attributes) {
  if (control.kind === "choice") {
    const options = control.values.map((value) => element("option", { value: JSON.stringify(value) }, String(value)));
    if (!required) options.unshift(element("option", { value: "" }, "–"));
    return element("select", attributes, ...options);
  }
  if (control.kind === "list") {
    const placeholder = `${control.item.hint ?? control.item.values.join(", ")}, one a line`;
    return element("textarea", { ...attributes, required, rows: 2, placeholder, spellcheck: "false" });
  }
  const usual = required && control.values.includes(USUAL) ? USUAL : "";
  const plain = { type: "text", placeholder: placeholderOf(control), autocomplete: "off", spellcheck: "false" };
  return element("input", { ...attributes, ...plain, required, value: usual, list: listOf(control) });
}

function placeholderOf({ values, hint }) {
  const [first, second] = values.includes(USUAL) ? [USUAL] : values;
  return [first, second, hint].filter((part) => part).join(" or ");
}

/** Return the page's list of texts that fit: addresses and hashes that it has seen. */
function listOf({ patterns }) {
  if (patterns.some((pattern) => pattern.includes("{40}"))) return "known-addresses";
  return patterns.some((pattern) => pattern.includes("{64}")) ? "known-hashes" : null;
}

function note(required) {
  return element("span", { class: "note" }, required ? " needed" : " optional");
}
