/** How a subscriber says what its library handed it: a line of JSON each, `undefined` by its name. */
import process from "node:process";

const told = (_name, value) => {
  if (value === undefined) return "undefined";
  return typeof value === "bigint" ? Number(value) : value;
};

export const [url, emitter] = process.argv.slice(2);

/** Prints what happened, as `{kind: value}`. */
export function say(event) {
  process.stdout.write(`${JSON.stringify(event, told)}\n`);
}

// Nothing catches what a library throws: then the process ends by itself, which must not happen.
process.stdin.on("end", () => process.exit(0)).resume();
