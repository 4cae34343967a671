/** Prometheus' text form, read, and what two readings of it say together. */

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;

/** Return the samples of a page of metrics: `{name, labels, value}` each. */
export function samplesOf(text) {
  const samples = [];
  for (const line of text.split("\n")) {
    const found = line.startsWith("#") ? null : LINE.exec(line);
    if (found !== null) samples.push({ name: found[1], labels: found[2] ?? "", value: Number(found[3]) });
  }
  return samples;
}

/** Return the value of a label, or undefined. */
export function label({ labels }, name) {
  for (const [, found, value] of labels.matchAll(LABEL)) if (found === name) return value;
  return undefined;
}

/** A page of metrics at a moment: sums by name, and calls by the time that they took. */
export class Reading {
  #sums = new Map();
  /** Calls that took no longer, by seconds. */
  buckets = new Map();

  constructor(samples, seconds) {
    this.samples = samples;
    this.seconds = seconds;
    for (const sample of samples) {
      if (sample.name === "wsnode_request_seconds_bucket") this.#addBucket(sample);
      else this.#sums.set(sample.name, (this.#sums.get(sample.name) ?? 0) + sample.value);
    }
  }

  /** Return how many samples of a name there are. */
  count(name) {
    return this.samples.filter((sample) => sample.name === name).length;
  }

  /** Return the sum of all samples of a name. */
  sum(name) {
    return this.#sums.get(name) ?? 0;
  }

  #addBucket(sample) {
    const bound = Number(label(sample, "le").replace("+Inf", "Infinity"));
    this.buckets.set(bound, (this.buckets.get(bound) ?? 0) + sample.value);
  }
}

/** Return by how much a counter grew in a second, between two readings. */
export function rate(before, after, name) {
  const seconds = after.seconds - before.seconds;
  // A counter that fell began anew with its process.
  return seconds > 0 ? Math.max(0, after.sum(name) - before.sum(name)) / seconds : 0;
}

/** Return the time within which a share of the calls between two readings was answered, or NaN without any. */
export function quantile(before, after, share) {
  const bounds = [...after.buckets.keys()].sort((first, second) => first - second);
  const counts = bounds.map((bound) => after.buckets.get(bound) - (before.buckets.get(bound) ?? 0));
  const wanted = share * (counts.at(-1) ?? 0);
  if (!(wanted > 0)) return Number.NaN;
  const place = counts.findIndex((count) => count >= wanted);
  const [low, below] = place === 0 ? [0, 0] : [bounds[place - 1], counts[place - 1]];
  const high = Number.isFinite(bounds[place]) ? bounds[place] : low;
  // Within a bucket calls are taken to lie evenly, as Prometheus' histogram_quantile does.
  return low + (high - low) * ((wanted - below) / Math.max(counts[place] - below, 1));
}
