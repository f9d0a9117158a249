import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { withLogins } from './store.mjs'

const [, , url, name] = process.argv
let transport
await withLogins(
  async (authProvider) => {
    transport = new StreamableHTTPClientTransport(new URL(url), { authProvider })
    const client = new Client({ name: 'lab', version: '1.0.0' })
    await client.connect(transport)
    return client.callTool({ name })
  },
  (_, answer) => transport.finishAuth(answer),
)
process.exit(0)
