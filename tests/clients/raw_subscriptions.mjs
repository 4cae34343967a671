/** Subscriptions to kinds that the libraries do not know, each in the way that its library has for them. */
import assert from "node:assert/strict";
import { SocketSubscriber, WebSocketProvider } from "ethers";
import { providers } from "ethers5";
import { createPublicClient, webSocket } from "viem";
import { Web3, WebSocketProvider as Web3Socket } from "web3";
import { Web3Subscription } from "web3-core";

export const LIBRARIES = ["ethers", "ethers5", "viem", "web3"];

/**
 * Subscribes with all parameters in each library; `hear` is called with the library, the place of the parameters
 * and a result. Resolves with what closes all connections.
 */
export async function subscribeWithAll(url, kinds, hear) {
  const ends = await Promise.all([ofEthers, ofEthers5, ofViem, ofWeb3].map((one) => one(url, kinds, hear)));
  return () => Promise.all(ends.map((end) => end()));
}

async function ofEthers(url, kinds, hear) {
  const provider = new WebSocketProvider(url);
  class Heard extends SocketSubscriber {
    constructor(place) {
      super(provider, kinds[place]);
      this.place = place;
    }
    async _emit(_provider, result) {
      hear("ethers", this.place, result);
    }
  }
  for (const place of kinds.keys()) new Heard(place).start();
  return () => provider.destroy();
}

async function ofEthers5(url, kinds, hear) {
  const provider = new providers.WebSocketProvider(url);
  for (const [place, params] of kinds.entries())
    await provider._subscribe(`kind ${place}`, params, (result) => hear("ethers5", place, result));
  return () => provider.destroy();
}

async function ofViem(url, kinds, hear) {
  const client = createPublicClient({ transport: webSocket(url) });
  let isOpen = true;
  // An error is also told when this side closes.
  const onError = (error) => isOpen && assert.fail(error);
  for (const [place, params] of kinds.entries())
    await client.transport.subscribe({ params, onData: ({ result }) => hear("viem", place, result), onError });
  return async () => {
    isOpen = false;
    (await client.transport.getRpcClient()).close();
  };
}

async function ofWeb3(url, kinds, hear) {
  const classes = kinds.map(
    (params, place) =>
      class extends Web3Subscription {
        _buildSubscriptionParams() {
          return params;
        }
        _processSubscriptionResult(result) {
          hear("web3", place, result);
        }
      },
  );
  const registeredSubscriptions = Object.fromEntries(classes.map((each, place) => [`kind${place}`, each]));
  const web3 = new Web3({ provider: new Web3Socket(url), registeredSubscriptions });
  for (const name of Object.keys(registeredSubscriptions)) await web3.subscriptionManager.subscribe(name);
  return () => web3.provider.disconnect();
}
