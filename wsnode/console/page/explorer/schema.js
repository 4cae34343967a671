/** What a JSON schema asks for, as controls of a form, and how what is typed there becomes JSON text. */

/** References that are followed at the most. */
const DEEPEST = 8;

/** Returned by `read` for a control that is left empty. */
export const ABSENT = Symbol("absent");

/** What is typed does not fit. */
export class InputError extends Error {}

/**
 * Return the control for a schema: `{kind, description, …}`.
 *
 * `choice` has `values`; `object` has `members` of `{name, required, control}`; `list` takes an item a line;
 * `text` takes everything else: strings of its `patterns` or `values`, numbers if `takesNumbers`, and any
 * JSON if `takesJson`.
 */
export function controlOf(schema, components, depth = 0) {
  const { description, ...resolved } = resolve(schema, components);
  const variants = variantsOf(resolved, components, depth);
  const made = madeOf(variants, components, depth);
  return { ...made, description, isFlag: variants.length === 1 && variants[0].type === "boolean" };
}

function madeOf(variants, components, depth) {
  const [first] = variants;
  if (variants.length === 1 && first.type === "boolean") return { kind: "choice", values: [false, true] };
  if (variants.length === 1 && first.enum !== undefined) return { kind: "choice", values: first.enum };
  if (variants.length === 1 && first.properties !== undefined && depth === 0) {
    return { kind: "object", members: membersOf(first, components) };
  }
  if (variants.length === 1 && first.type === "array" && first.items !== undefined) {
    const item = controlOf(first.items, components, depth + 1);
    if (item.kind === "choice" || (item.kind === "text" && !item.takesJson)) return { kind: "list", item };
  }
  return textOf(variants);
}

function membersOf({ properties, required = [] }, components) {
  return Object.entries(properties).map(([name, schema]) => {
    return { name, required: required.includes(name), control: controlOf(schema, components, 1) };
  });
}

function textOf(variants) {
  const strings = variants.filter(({ type }) => type === "string");
  const isOther = ({ type, enum: values }) =>
    values === undefined && !["string", "integer", "number", "null", "boolean"].includes(type);
  return {
    kind: "text",
    patterns: strings.map(({ pattern }) => pattern ?? ""),
    values: variants.flatMap(({ enum: values = [] }) => values),
    takesNumbers: variants.some(({ type }) => type === "integer" || type === "number"),
    takesJson: variants.some(isOther),
    hint: hintOf(variants),
  };
}

/** Return what a text looks like, for the eye. */
function hintOf(variants) {
  const hints = variants.map(({ type, pattern = "", properties }) => {
    if (pattern.includes("{40}")) return "0x… 20 bytes";
    if (pattern.includes("{64}")) return "0x… 32 bytes";
    if (pattern.includes("|[1-9a-fA-F]")) return "0x1b4";
    if (pattern.includes("0[xX]")) return "0x…";
    if (properties !== undefined) return `{"${Object.keys(properties)[0] ?? "…"}": …}`;
    return { array: "[…]", integer: "123", number: "1.5", object: "{…}", string: "text" }[type] ?? null;
  });
  return [...new Set(hints.filter((hint) => hint !== null))].slice(0, 3).join(" or ");
}

/** Return the schemas of which one has to fit, without those that stand for nothing. */
function variantsOf(schema, components, depth) {
  const variants = schema.anyOf ?? schema.oneOf;
  if (variants === undefined) return [schema];
  const found = variants.flatMap((each) => variantsOf(resolve(each, components), components, depth + 1));
  const something = found.filter(({ type }) => type !== "null");
  return something.length === 0 ? [{}] : something;
}

function resolve(schema, components) {
  let resolved = schema;
  for (let depth = 0; resolved.$ref !== undefined; depth++) {
    const target = components[resolved.$ref.split("/").at(-1)];
    if (target === undefined || depth === DEEPEST) return {};
    resolved = target;
  }
  return resolved;
}

/**
 * Return the JSON text of what was typed into a control of the kinds `choice`, `list` and `text`.
 *
 * Throws InputError: it fits nothing that the schema allows.
 */
export function read(control, typed) {
  const text = typed.trim();
  if (text === "") return ABSENT;
  if (control.kind === "choice") return text;
  if (control.kind === "list" && !text.startsWith("[")) {
    const lines = text.split(/[\s,]+/).filter((line) => line !== "");
    return `[${lines.map((line) => read(control.item, itemOf(control.item, line))).join(",")}]`;
  }
  return readText(control, text);
}

/** A choice among texts is typed without its quotation marks in a list. */
function itemOf(item, line) {
  return item.kind === "choice" && item.values.includes(line) ? JSON.stringify(line) : line;
}

function readText({ patterns = [], values = [], takesNumbers, takesJson, kind, hint }, text) {
  if (values.includes(text)) return JSON.stringify(text);
  const isPlain = patterns.some((pattern) => pattern !== "" && new RegExp(pattern).test(text));
  if (isPlain) return JSON.stringify(text);
  if (takesNumbers && /^-?\d+(\.\d+)?$/.test(text)) return text;
  if (takesJson || kind === "list") {
    if (isJson(text)) return text;
    if (/^[[{"]/.test(text)) throw new InputError("not valid JSON");
  }
  if (patterns.includes("")) return JSON.stringify(text);
  throw new InputError(hint ? `expected ${hint}` : "not what the schema allows");
}

function isJson(text) {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Return the text of an array of parameters, or of an object of them, without the absent ones at the end. */
export function parametersText(method, texts) {
  if (method.paramStructure === "by-name") {
    const given = method.params.map(({ name }, index) => [name, texts[index]]);
    return objectText(given);
  }
  const last = texts.findLastIndex((text) => text !== ABSENT);
  return `[${texts.slice(0, last + 1).map((text) => (text === ABSENT ? "null" : text)).join(",")}]`;
}

/** Return the text of an object, without absent members. */
export function objectText(entries) {
  const given = entries.filter(([, text]) => text !== ABSENT);
  return `{${given.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(",")}}`;
}
