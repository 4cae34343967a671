/** viem's public client against the demo chain: `node viem.mjs URL [batch]`. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  BlockNotFoundError,
  ContractFunctionRevertedError,
  InsufficientFundsError,
  MethodNotFoundRpcError,
  RpcRequestError,
  TransactionNotFoundError,
  TransactionReceiptNotFoundError,
  createPublicClient,
  getContract,
  http,
  parseEther,
  webSocket,
  zeroAddress,
} from "viem";
import { balancesAfter, demo, numbers, url } from "./demo.mjs";

const batch = process.argv[3] === "batch";
const requests = [];
const onFetchRequest = async (request) => {
  requests.push(await request.clone().json());
};
const transport = url.startsWith("ws") ? webSocket(url) : http(url, { batch, onFetchRequest });
const client = createPublicClient({ transport });
const token = { address: demo.token, abi: demo.abi };
const transferEvent = demo.abi.find(({ name }) => name === "Transfer");
const last = BigInt(demo.last);
const tooMuch = {
  ...token,
  functionName: "transfer",
  args: [demo.recipient, BigInt(demo.tooMuch)],
  account: demo.holder,
};

after(async () => {
  if (url.startsWith("ws")) (await client.transport.getRpcClient()).close();
});

const isRevert = (error) => {
  const reverted = error.walk((each) => each instanceof ContractFunctionRevertedError);
  assert.equal(reverted.reason, "Token: insufficient balance");
  assert.equal(error.walk((each) => each instanceof RpcRequestError).code, 3);
  return true;
};

test("the chain id and the block number are read", async () => {
  assert.equal(await client.getChainId(), demo.chainId);
  assert.ok((await client.getBlockNumber()) >= last);
});

test("a block has hashes, and whole transactions when they are asked for", async () => {
  const [block, full] = await Promise.all([
    client.getBlock({ blockNumber: 2n }),
    client.getBlock({ blockNumber: 2n, includeTransactions: true }),
  ]);
  assert.equal(block.transactions.length, 9);
  assert.deepEqual(full.transactions.map(({ hash }) => hash), block.transactions);
  assert.equal((await client.getBlock({ blockHash: block.hash })).parentHash, block.parentHash);
  assert.equal(await client.getBlockTransactionCount({ blockNumber: 2n }), 9);
});

test("every block tag names a block", async () => {
  for (const blockTag of ["latest", "safe", "finalized", "earliest"]) {
    assert.equal(typeof (await client.getBlock({ blockTag })).number, "bigint");
  }
  assert.ok((await client.getBlock({ blockTag: "pending" })).timestamp > 0n);
});

test("what does not exist has an error of its own", async () => {
  const hash = "0x" + "11".repeat(32);
  await assert.rejects(client.getBlock({ blockNumber: 1_000_000_000n }), BlockNotFoundError);
  await assert.rejects(client.getTransaction({ hash }), TransactionNotFoundError);
  await assert.rejects(client.getTransactionReceipt({ hash }), TransactionReceiptNotFoundError);
});

test("balance, code, storage and nonce are read at a block", async () => {
  assert.equal(await client.getBalance({ address: demo.creator, blockNumber: 0n }), parseEther("10000"));
  assert.equal(await client.getCode({ address: demo.token, blockNumber: 0n }), undefined);
  assert.ok((await client.getCode({ address: demo.token })).length > 1000);
  assert.equal((await client.getStorageAt({ address: demo.token, slot: "0x0" })).length, 66);
  assert.equal(await client.getTransactionCount({ address: demo.creator, blockNumber: 2n }), 10);
});

test("a transaction and its receipt fit together", async () => {
  const transaction = await client.getTransaction({ blockNumber: 2n, index: 0 });
  const { hash } = transaction;
  const receipt = await client.getTransactionReceipt({ hash });
  assert.deepEqual([transaction.type, transaction.value, transaction.chainId], ["eip1559", 0n, demo.chainId]);
  assert.deepEqual([receipt.status, receipt.transactionIndex, receipt.logs.length], ["success", 0, 1]);
  assert.equal(receipt.effectiveGasPrice, transaction.gasPrice);
  assert.equal((await client.waitForTransactionReceipt({ hash })).transactionHash, hash);
  assert.ok((await client.getTransactionConfirmations({ hash })) >= last - 1n);
  const failed = (await client.getBlock({ blockNumber: 10n })).transactions.at(-1);
  assert.equal((await client.getTransactionReceipt({ hash: failed })).status, "reverted");
});

test("the token's events add up to its balances", async () => {
  const logs = await client.getContractEvents({ ...token, eventName: "Transfer", fromBlock: 0n, toBlock: last, strict: true });
  const balances = balancesAfter(logs.map(({ args }) => args));
  assert.equal(balances.get(zeroAddress), -BigInt(demo.supply));
  balances.delete(zeroAddress);
  for (const [account, balance] of balances) {
    const read = { ...token, functionName: "balanceOf", args: [account], blockNumber: last };
    assert.equal(await client.readContract(read), balance);
  }
});

test("events are filtered by their indexed arguments", async () => {
  const range = { address: demo.token, event: transferEvent, fromBlock: 0n, toBlock: last };
  const all = await client.getLogs(range);
  const sent = await client.getLogs({ ...range, args: { from: demo.holder } });
  const received = await client.getLogs({ ...range, args: { to: [demo.holder, demo.recipient] } });
  assert.ok(sent.length > 0 && received.length > 0);
  assert.equal(sent.length, all.filter(({ args }) => args.from === demo.holder).length);
  assert.equal(
    received.length,
    all.filter(({ args }) => [demo.holder, demo.recipient].includes(args.to)).length,
  );
});

test("the token's views are read, one by one and in a call without a recipient", async () => {
  const { read } = getContract({ ...token, client });
  assert.deepEqual([await read.name(), await read.symbol(), await read.decimals()], ["Demo Token", "DEMO", 18]);
  const contracts = ["name", "symbol"].map((functionName) => ({ ...token, functionName }));
  const results = await client.multicall({ deployless: true, allowFailure: false, contracts });
  assert.deepEqual(results, ["Demo Token", "DEMO"]);
});

test("a revert is a ContractFunctionRevertedError with the contract's reason", async () => {
  await assert.rejects(client.simulateContract(tooMuch), isRevert);
  await assert.rejects(client.estimateContractGas(tooMuch), isRevert);
});

test("too little ether is an InsufficientFundsError", async () => {
  const transfer = { account: demo.holder, to: demo.recipient, value: 10n ** 30n };
  const isPoverty = (error) => error.walk((each) => each instanceof InsufficientFundsError) !== null;
  await assert.rejects(client.estimateGas(transfer), isPoverty);
  const rich = [{ address: demo.holder, balance: 10n ** 31n }];
  assert.deepEqual(await client.call({ ...transfer, stateOverride: rich }), { data: undefined });
});

test("a transaction is simulated, estimated and completed", async () => {
  const transfer = { ...tooMuch, args: [demo.recipient, 1n] };
  assert.equal((await client.simulateContract(transfer)).result, true);
  const gas = await client.estimateContractGas(transfer);
  assert.ok(gas > 30_000n && gas < 60_000n);
  const request = { account: demo.holder, to: demo.recipient, value: 1n };
  const complete = await client.prepareTransactionRequest(request);
  assert.deepEqual([complete.type, complete.gas, complete.chainId], ["eip1559", 21_000n, demo.chainId]);
});

test("fees are advised", async () => {
  const fees = await client.estimateFeesPerGas();
  assert.ok(fees.maxFeePerGas >= fees.maxPriorityFeePerGas && fees.maxPriorityFeePerGas > 0n);
  assert.ok((await client.getGasPrice()) > 0n);
  assert.ok((await client.getBlobBaseFee()) > 0n);
  const history = await client.getFeeHistory({ blockCount: 5, rewardPercentiles: [10, 50] });
  assert.deepEqual([history.baseFeePerGas.length, history.reward.length], [6, 5]);
});

test("20 calls at once are each answered with their own result", async () => {
  requests.length = 0;
  const blocks = await Promise.all(numbers(1, 20).map((number) => client.getBlock({ blockNumber: BigInt(number) })));
  assert.deepEqual(blocks.map(({ number }) => Number(number)), numbers(1, 20));
  if (batch) assert.deepEqual(requests.map(({ length }) => length), [20]);
});

test("a keep-alive with a null id is answered", { skip: !url.startsWith("ws") }, async () => {
  const { socket } = await client.transport.getRpcClient();
  const reply = new Promise((resolve) => {
    socket.addEventListener("message", ({ data }) => resolve(JSON.parse(data)), { once: true });
  });
  socket.ping();
  assert.deepEqual(await reply, { jsonrpc: "2.0", id: null, result: String(demo.chainId) });
});

test("a method that does not exist is a MethodNotFoundRpcError", async () => {
  await assert.rejects(client.request({ method: "eth_noSuchMethod" }), MethodNotFoundRpcError);
});
