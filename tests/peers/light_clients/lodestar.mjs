/**
 * Follows a beacon node by Lodestar's light client, and prints what it has proved, a line each time that changes.
 *
 *     LODESTAR_PRESET=minimal node lodestar.mjs MODULES URL CHECKPOINT
 *
 * MODULES is a folder with `node_modules`. A line is `{"proved": {slot, hash}, "finalized": {slot, hash}}`.
 */

import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { pathToFileURL } from "node:url";

const PAUSE_MILLISECONDS = 250;

const [modules, url, checkpoint] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(join(modules, "node_modules/@lodestar", name)).href);
const { LightclientSpec } = await load("light-client/lib/spec/index.js");
const { validateLightClientBootstrap } = await load("light-client/lib/spec/validateLightClientBootstrap.js");
const { ssz } = await load("types/lib/index.js");
const { createBeaconConfig, defaultChainConfig } = await load("config/lib/index.js");

const bytes = (text) => Uint8Array.from(Buffer.from(text.slice(2), "hex"));

async function ask(path) {
  const answer = await fetch(`${url}/eth/v1/${path}`, { headers: { accept: "application/json" } });
  if (!answer.ok) throw new Error(`${path}: HTTP ${answer.status}`);
  return answer.json();
}

const told = (await ask("config/spec")).data;
const genesis = (await ask("beacon/genesis")).data;
const settings = { ...defaultChainConfig, SECONDS_PER_SLOT: Number(told.SECONDS_PER_SLOT) };
for (const name of Object.keys(defaultChainConfig)) {
  if (name.endsWith("_FORK_VERSION") && name in told) settings[name] = bytes(told[name]);
  // A fork that the node does not schedule is none.
  else if (name.endsWith("_FORK_EPOCH")) settings[name] = name in told ? Number(told[name]) : Infinity;
}
const config = createBeaconConfig(settings, bytes(genesis.genesis_validators_root));
const slot = () => Math.floor((Date.now() / 1_000 - Number(genesis.genesis_time)) / settings.SECONDS_PER_SLOT);

const decoded = ({ version, data }, kind) => ssz[version][`LightClient${kind}`].fromJson(data);
const bootstrap = decoded(await ask(`beacon/light_client/bootstrap/${checkpoint}`), "Bootstrap");
validateLightClientBootstrap(config, bytes(checkpoint), bootstrap);
const client = new LightclientSpec(config, { allowForcedUpdates: false, updateHeadersOnForcedUpdate: false }, bootstrap);

function header({ beacon, execution }) {
  return { slot: beacon.slot, hash: `0x${Buffer.from(execution.blockHash).toString("hex")}` };
}

let last = "";
for (;;) {
  const period = Math.floor(client.store.finalizedHeader.beacon.slot / (Number(told.SLOTS_PER_EPOCH) * Number(told.EPOCHS_PER_SYNC_COMMITTEE_PERIOD)));
  for (const update of await ask(`beacon/light_client/updates?start_period=${period}&count=1`)) {
    client.onUpdate(slot(), decoded(update, "Update"));
  }
  client.onFinalityUpdate(slot(), decoded(await ask("beacon/light_client/finality_update"), "FinalityUpdate"));
  client.onOptimisticUpdate(slot(), decoded(await ask("beacon/light_client/optimistic_update"), "OptimisticUpdate"));
  const { optimisticHeader, finalizedHeader } = client.store;
  const line = JSON.stringify({ proved: header(optimisticHeader), finalized: header(finalizedHeader) });
  if (line !== last) console.log((last = line));
  await setTimeout(PAUSE_MILLISECONDS);
}
