/** How the node does: its metrics where it serves them to the page, and what the page measures itself. */

import { byId, element } from "../lib/dom.js";
import { age, bytes, duration, grouped, precise } from "../lib/text.js";
import { quantile, rate, Reading, samplesOf } from "./prometheus.js";
import { Tile } from "./tile.js";

const METRICS_MILLISECONDS = 2_000;
const PROBE_MILLISECONDS = 5_000;
/** Rates and latencies are those of this many readings. */
const WINDOW = 6;
const MAX_ROWS = 400;

/** Fills the tiles. */
export class Glance {
  #connection;
  #readings = [];
  #head = null;
  #tiles;

  /** With `hasMetrics` they are fetched from beside the page. */
  constructor(connection, hasMetrics) {
    this.#connection = connection;
    this.#tiles = tiles(hasMetrics);
    setInterval(() => this.#showAge(), 1_000);
    setInterval(() => this.#probe(), PROBE_MILLISECONDS);
    connection.addEventListener("open", () => this.#probe());
    byId("metrics").hidden = !hasMetrics;
    byId("no-metrics").hidden = hasMetrics;
    if (hasMetrics) this.#follow();
  }

  /** Show the last block. */
  showHead(number, timestamp) {
    this.#head = timestamp;
    this.#tiles.head.show(grouped(number));
    this.#showAge();
  }

  #showAge() {
    if (this.#head === null) return;
    const seconds = Math.round(Date.now() / 1_000 - this.#head);
    this.#tiles.age.show(age(seconds), Math.max(0, seconds));
  }

  /** Measure a call of the plainest method over the page's connection. */
  async #probe() {
    if (!this.#connection.isOpen || document.hidden) return;
    const begun = performance.now();
    try {
      await this.#connection.call("rpc_modules");
    } catch {
      return;
    }
    const seconds = (performance.now() - begun) / 1_000;
    this.#tiles.trip.show(duration(seconds), seconds);
  }

  #follow() {
    const read = async () => {
      if (!document.hidden) await this.#read();
      setTimeout(read, METRICS_MILLISECONDS);
    };
    read();
  }

  async #read() {
    let text;
    try {
      const answer = await fetch("metrics", { cache: "no-store" });
      if (!answer.ok) return;
      text = await answer.text();
    } catch {
      // The node is away: the page's connection says so.
      return;
    }
    this.#readings.push(new Reading(samplesOf(text), performance.now() / 1_000));
    if (this.#readings.length > WINDOW) this.#readings.shift();
    this.#show(this.#readings[0], this.#readings.at(-1));
    if (byId("metrics").open) showAll(this.#readings.at(-1).samples);
  }

  #show(before, after) {
    const calls = rate(before, after, "wsnode_request_seconds_count");
    const [middle, late] = [quantile(before, after, 0.5), quantile(before, after, 0.99)];
    const sent = rate(before, after, "wsnode_notifications_total");
    const waiting = after.sum("wsnode_outbox_bytes");
    const { calls: perSecond, median, tail, connections, subscriptions, notifications, outbox } = this.#tiles;
    perSecond.show(precise(calls), calls);
    median.show(duration(middle), middle);
    tail.show(duration(late), late);
    connections.show(grouped(after.sum("wsnode_websockets")), after.sum("wsnode_websockets"));
    subscriptions.show(grouped(after.sum("wsnode_subscriptions")), after.sum("wsnode_subscriptions"));
    notifications.show(precise(sent), sent);
    outbox.show(bytes(waiting), waiting);
    if (after.count("wsnode_upstreams_followed") > 0) this.#showUpstreams(after);
    if (after.count("wsnode_beacon_proved_slot") > 0) this.#showProof(after);
  }

  /** Show how a node does that follows others. */
  #showUpstreams(after) {
    this.#tiles.lag ??= new Tile("Lag, blocks", "Blocks that the upstreams are ahead");
    this.#tiles.upstreams ??= new Tile("Upstreams", "Nodes that are followed now, of all that are configured");
    const isKnown = after.count("wsnode_lag_blocks") > 0;
    const lag = after.sum("wsnode_lag_blocks");
    this.#tiles.lag.show(isKnown ? grouped(lag) : "–", isKnown ? lag : null);
    const followed = after.sum("wsnode_upstreams_followed");
    this.#tiles.upstreams.show(`${followed} of ${after.count("wsnode_upstream_followed")}`, followed);
  }

  /** Show how old the proof of the head is. */
  #showProof(after) {
    this.#tiles.proof ??= new Tile("Proved, slots ago", "Age of the newest block that the sync committee has signed");
    this.#tiles.signers ??= new Tile("Signed by", "Members of the sync committee that have signed that block");
    const slots = after.sum("wsnode_beacon_clock_slot") - after.sum("wsnode_beacon_proved_slot");
    const signers = after.sum("wsnode_beacon_participation");
    this.#tiles.proof.show(grouped(slots), slots);
    this.#tiles.signers.show(grouped(signers), signers);
  }
}

function tiles(hasMetrics) {
  const always = {
    head: new Tile("Head", "The last block's number"),
    age: new Tile("Head age", "The time since the last block's timestamp: how far the node lags behind its chain"),
    trip: new Tile("Round trip", "From this page to the node and back, for the plainest call"),
  };
  if (!hasMetrics) return always;
  return {
    ...always,
    calls: new Tile("Calls / s", "Calls that were answered, of all clients"),
    median: new Tile("Latency, median", "In the node, from a call's arrival to its reply, of all clients"),
    tail: new Tile("Latency, p99", "Of a hundred calls the slowest takes longer"),
    connections: new Tile("WebSockets", "Open connections, this page's among them"),
    subscriptions: new Tile("Subscriptions", "Open subscriptions, of all clients"),
    notifications: new Tile("Notifications / s", "Sent to all subscribers"),
    outbox: new Tile("Waiting to be read", "Bytes of replies and notifications that clients have not taken yet"),
  };
}

/** Show every metric but the histograms' buckets. */
function showAll(samples) {
  const rows = samples
    .filter(({ name }) => !name.endsWith("_bucket"))
    .slice(0, MAX_ROWS)
    .map(({ name, labels, value }) =>
      element("tr", {}, ...[name, labels, String(value)].map((text) => element("td", {}, text))),
    );
  byId("metrics-rows").replaceChildren(...rows);
}
