// Starts the `anvil` of the PATH as prool's users do, alone and as a server of many instances.
import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { Instance, Server } from 'prool'

async function call(url, method, params = []) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const reply = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  return (await reply.json()).result
}

test('an instance starts and stops, more than once', async () => {
  const instance = Instance.anvil({ port: 0 + Number(process.env.PORT), timestamp: 1717114065, chainId: 123, accounts: 3 })
  for (let round = 0; round < 2; round++) {
    await instance.start()
    assert.equal(instance.status, 'started')
    const url = `http://127.0.0.1:${instance.port}`
    assert.equal(await call(url, 'eth_chainId'), '0x7b')
    assert.equal((await call(url, 'eth_accounts')).length, 3)
    const block = await call(url, 'eth_getBlockByNumber', ['0x0', false])
    assert.equal(block.timestamp, '0x665914d1')
    assert.match(instance.messages.get().join(''), /Listening on/)
    await instance.stop()
    assert.equal(instance.status, 'stopped')
  }
})

test('flags that are ignored stop no instance', async () => {
  const instance = Instance.anvil({
    port: Number(process.env.PORT),
    mnemonicRandom: true,
    noRateLimit: true,
    noStorageCaching: true,
    pruneHistory: true,
    retries: 3,
    stepsTracing: true,
    autoImpersonate: true,
    noMining: true,
    hardfork: 'Prague',
    order: 'fifo',
  })
  const errors = []
  instance.on('stderr', (message) => errors.push(message))
  await instance.start()
  const url = `http://127.0.0.1:${instance.port}`
  assert.equal(await call(url, 'anvil_getAutomine'), false)
  // What a contract says, and a call that fails, are no errors of the program.
  assert.equal(await call(url, 'eth_call', [{ data: '0x5f5ffd' }]), undefined)
  assert.equal(await call(url, 'eth_blockNumber'), '0x0')
  assert.equal(instance.status, 'started')
  assert.ok(errors.join('').split('\n').every((line) => line === '' || line.startsWith('Warning: --')))
  await instance.stop()
})

test('an instance that cannot start says why', async () => {
  const first = Instance.anvil({ port: Number(process.env.PORT) })
  await first.start()
  const second = Instance.anvil({ port: Number(process.env.PORT) })
  await assert.rejects(() => second.start(), /Failed to start process "anvil"[^]*[Aa]ddress (already )?in use/)
  await first.stop()
})

test('a server has an instance for each path', async () => {
  const server = Server.create({ instance: Instance.anvil({ chainId: 7 }), port: Number(process.env.PORT) })
  const stop = await server.start()
  const urls = [1, 2].map((path) => `http://127.0.0.1:${server.address().port}/${path}`)
  for (const url of urls) assert.equal(await call(url, 'eth_chainId'), '0x7')
  await call(urls[0], 'evm_mine')
  assert.deepEqual(await Promise.all(urls.map((url) => call(url, 'eth_blockNumber'))), ['0x1', '0x0'])
  await stop()
})
