// The official conformance tests of the Model Context Protocol for authorization servers, as its command runs them.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { clientMetadataDocuments, registration } from '../../lib/features/index.ts'
import { openServer, type TestServer } from '../support/client-server.ts'
import { freePort } from '../support/free-ports.ts'
import { type Host, startHost } from '../support/host.ts'
import { locationOf, RawBrowser } from '../support/raw-browser.ts'

let server: TestServer
let host: Host
let mcp: string

beforeAll(async () => {
  server = await openServer()
  mcp = `${server.origin}/mcp`
  host = await startHost({
    options: {
      issuer: `${server.origin}/oauth`,
      resources: { [mcp]: { scopes: ['notes:read', 'notes:write'] } },
      features: [registration(), clientMetadataDocuments()],
    },
    clients: [
      {
        client_id: 'runner',
        token_endpoint_auth_method: 'none',
        redirect_uris: ['http://127.0.0.1/callback'],
        scope: 'notes:read notes:write',
      },
    ],
  })
  server.serve(host.app)
})
afterAll(async () => {
  await host.close()
  await server.close()
})

test('every scenario for authorization servers passes', async () => {
  const program = join(__dirname, '../../node_modules/@modelcontextprotocol/conformance/dist/index.js')
  const settings = {
    url: `${server.origin}/oauth`,
    'client-id': 'runner',
    resource: mcp,
    port: String(await freePort()),
  }
  const options = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value])
  const runner = spawn(process.execPath, [program, 'authorization', ...options])
  const ended = once(runner, 'exit')
  const errors = text(runner.stderr)
  let output = ''
  let isAsked = false
  for await (const chunk of runner.stdout) {
    output += chunk
    const [asked] = /http:\/\/\S+\/oauth\/authorize\?\S+/.exec(output) ?? []
    if (isAsked || asked === undefined || !output.includes('Callback server started')) continue
    isAsked = true
    await fetch(locationOf(await new RawBrowser(server.origin, server.origin).grant(asked)))
  }
  const [code] = await ended
  expect({ code, output, errors: await errors }).toMatchObject({ code: 0 })
  expect(output).toContain('Total: 3 passed, 0 failed')
})
