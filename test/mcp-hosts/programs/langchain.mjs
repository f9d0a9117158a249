import { MultiServerMCPClient } from '@langchain/mcp-adapters'
import { auth } from '@modelcontextprotocol/sdk/client/auth.js'
import { withLogins } from './store.mjs'

const [, , url, name] = process.argv
await withLogins(
  async (authProvider) => {
    const client = new MultiServerMCPClient({
      mcpServers: { orders: { transport: 'http', url, authProvider } },
    })
    const tools = await client.getTools()
    return tools.find((tool) => tool.name === name).invoke({})
  },
  (provider, answer) => auth(provider, { serverUrl: url, authorizationCode: answer.get('code') }),
)
process.exit(0)
