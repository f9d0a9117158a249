import { auth, createMCPClient } from '@ai-sdk/mcp'
import { withLogins } from './store.mjs'

const [, , url, name] = process.argv
await withLogins(
  async (authProvider) => {
    const client = await createMCPClient({ transport: { type: 'http', url, authProvider } })
    const tools = await client.tools()
    return tools[name].execute({}, { toolCallId: '1', messages: [] })
  },
  (provider, answer) =>
    auth(provider, {
      serverUrl: new URL(url),
      authorizationCode: answer.get('code'),
      callbackState: answer.get('state') ?? undefined,
    }),
)
process.exit(0)
