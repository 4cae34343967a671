/** Numbers, hashes and times as they are read. */

const GROUPED = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const UNITS = [[1, "s", 1], [1e-3, "ms", 1e3], [0, "µs", 1e6]];

/** Return an integer with its thousands apart. */
export function grouped(number) {
  return GROUPED.format(number);
}

/** Return the number that a quantity such as `0x1b4` means. */
export function quantity(text) {
  return Number.parseInt(text, 16);
}

/** Return the first and the last digits of a hash or an address. */
export function shortened(hash, digits = 4) {
  return hash.length <= 2 * digits + 4 ? hash : `${hash.slice(0, digits + 2)}…${hash.slice(-digits)}`;
}

/** Return seconds with a unit that fits: `1.2 s`, `340 ms`, `85 µs`. */
export function duration(seconds) {
  if (!Number.isFinite(seconds)) return "–";
  const [, unit, factor] = UNITS.find(([least]) => seconds >= least) ?? UNITS[2];
  return `${precise(seconds * factor)} ${unit}`;
}

/** Return a number with three digits that count. */
export function precise(number) {
  if (number >= 100) return grouped(number);
  if (number >= 10) return number.toFixed(1);
  if (number === 0) return "0";
  return number >= 0.01 ? number.toFixed(2) : number.toPrecision(2);
}

/** Return a span of time in its largest unit. */
export function age(seconds) {
  if (seconds < 0) return `in ${age(-seconds)}`;
  if (seconds < 100) return `${Math.round(seconds)} s`;
  if (seconds < 6_000) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.round(seconds / 3_600)} h` : `${grouped(seconds / 86_400)} d`;
}

/** Return the clock's time of a block. */
export function clock(timestamp) {
  return new Date(timestamp * 1_000).toLocaleTimeString("en-GB");
}

/** Return bytes with a unit that fits. */
export function bytes(count) {
  if (count < 10_000) return `${grouped(count)} bytes`;
  return count < 10_000_000 ? `${grouped(count / 1_000)} kB` : `${grouped(count / 1_000_000)} MB`;
}

/** Return an amount of any size with three digits: `950`, `1.25×10¹⁸`. */
export function amount(number) {
  const digits = number.toString();
  if (digits.length <= 6) return grouped(Number(digits));
  const power = [...String(digits.length - 1)].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]).join("");
  return `${digits[0]}.${digits.slice(1, 3)}×10${power}`;
}
