/** Contract calls as one writes them, and words that a call returns. */

import { amount, shortened } from "./text.js";

const WORD = 64;
const MAX_WORDS = 4;
const SIGNATURE = /^([A-Za-z_$][\w$]*)\(([^()]*)\)(.*)$/;
const HEX = /^0x([0-9a-fA-F]{2})*$/;

/** What was written is no call. */
export class CallTextError extends Error {}

/**
 * Return `{signature, words}` of a text such as `balanceOf(address) 0x…`, and `{data}` of one in hexadecimal.
 *
 * Throws CallTextError: it is neither, or an argument does not fit its type.
 */
export function parseCall(text) {
  const written = text.trim();
  if (HEX.test(written)) return { data: written };
  const [, name, listed, rest] = SIGNATURE.exec(written) ?? [];
  if (name === undefined) throw new CallTextError("Write a signature, such as balanceOf(address) 0x…, or 0x and data.");
  const types = split(listed);
  const values = split(rest);
  if (types.length !== values.length) throw new CallTextError(`${name} takes ${types.length} values, not ${values.length}.`);
  const words = types.map((type, index) => wordOf(type, values[index]));
  return { signature: `${name}(${types.join(",")})`, words };
}

/** Return the call's data; `hash` resolves with the Keccak-256 hash of bytes, both in hexadecimal. */
export async function encodeCall({ data, signature, words }, hash) {
  if (data !== undefined) return data;
  const bytes = [...new TextEncoder().encode(signature)];
  const text = bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return (await hash(`0x${text}`)).slice(0, 10) + words.join("");
}

/** Return what a call returned in short: its first words as addresses or amounts. */
export function shownResult(data) {
  const digits = data.slice(2);
  if (digits === "" || digits.length % WORD !== 0) return shortened(data, 16);
  const words = digits.match(/.{64}/g);
  const shown = words.slice(0, MAX_WORDS).map(shownWord);
  return words.length > MAX_WORDS ? `${shown.join(", ")}, …` : shown.join(", ");
}

function shownWord(word) {
  // Amounts have fewer digits than addresses, and hashes more.
  if (word.startsWith("0".repeat(24)) && !word.startsWith("0".repeat(32))) return shortened(`0x${word.slice(24)}`);
  return word.startsWith("0".repeat(24)) ? amount(BigInt(`0x${word}`)) : shortened(`0x${word}`);
}

function split(text) {
  return text.split(/[\s,]+/).filter((part) => part !== "");
}

function wordOf(type, value) {
  const [, kind, size] = /^(address|bool|uint|int|bytes)(\d*)$/.exec(type) ?? [];
  const fitting = { address, bool, uint: integer, int: integer, bytes }[kind];
  if (fitting === undefined || (kind === "bytes") !== /^bytes\d/.test(type)) {
    throw new CallTextError(`Values of the type ${type} are to be written as data.`);
  }
  const word = fitting(value, Number(size || 256), kind);
  if (word === null) throw new CallTextError(`${value} is no ${type}.`);
  return word;
}

function address(value) {
  return /^0x[0-9a-fA-F]{40}$/.test(value) ? value.slice(2).toLowerCase().padStart(WORD, "0") : null;
}

function bool(value) {
  return { true: "1", false: "0" }[value]?.padStart(WORD, "0") ?? null;
}

function integer(value, bits, kind) {
  if (!/^-?\d+$|^0x[0-9a-fA-F]+$/.test(value) || bits > 256) return null;
  const number = BigInt(value);
  const isWithin = kind === "int" ? BigInt.asIntN(bits, number) === number : BigInt.asUintN(bits, number) === number;
  return isWithin ? BigInt.asUintN(256, number).toString(16).padStart(WORD, "0") : null;
}

function bytes(value, size) {
  return HEX.test(value) && value.length === 2 + 2 * size && size <= 32 ? value.slice(2).padEnd(WORD, "0") : null;
}
