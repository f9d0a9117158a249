import * as second from '@modelcontextprotocol/client'
import { auth } from '@modelcontextprotocol/sdk/client/auth.js'
import { Client as FirstClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as FirstTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { locationOf, type RawBrowser } from '../support/raw-browser.ts'

/** The loopback address of a desktop app. */
export const appCallback = 'http://127.0.0.1:33418/callback'
/** What it says about itself. */
export const appMetadata = {
  client_name: 'Desktop app',
  redirect_uris: [appCallback],
  token_endpoint_auth_method: 'none',
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
}

type Provider = second.OAuthClientProvider
type StoredClient = Awaited<ReturnType<Provider['clientInformation']>>
type Tokens = Awaited<ReturnType<Provider['tokens']>>

/** What a desktop app keeps. */
const createStore = (given: { clientMetadataUrl?: string; known?: StoredClient }) => {
  const kept: { client?: StoredClient; tokens?: Tokens; verifier?: string; asked?: URL } = {
    client: given.known,
  }
  const provider: Provider = {
    redirectUrl: appCallback,
    clientMetadata: appMetadata,
    ...(given.clientMetadataUrl !== undefined && { clientMetadataUrl: given.clientMetadataUrl }),
    clientInformation: () => kept.client,
    saveClientInformation: (client) => void Object.assign(kept, { client }),
    tokens: () => kept.tokens,
    saveTokens: (tokens) => void Object.assign(kept, { tokens }),
    redirectToAuthorization: (asked) => void Object.assign(kept, { asked }),
    saveCodeVerifier: (verifier) => void Object.assign(kept, { verifier }),
    codeVerifier: () => String(kept.verifier),
    invalidateCredentials: (scope) => {
      if (scope === 'all') delete kept.client
      delete kept.tokens
    },
  }
  return { kept, provider }
}

interface Connection {
  connect(): Promise<void>
  call(tool: string, arguments_?: Readonly<Record<string, unknown>>): Promise<unknown>
  /** The names of the tools that the server shows. */
  tools(): Promise<string[]>
  /** @param answer the URL to which the browser came back */
  finish(answer: URL): Promise<void>
  /** Starts a login where the client does not do it itself. */
  giveUp(error: Error): Promise<void>
}

/** One connection of each version: its client, its transport, and how it finishes a login. */
export const mcpClients = {
  '@modelcontextprotocol/sdk 1': (mcp: string, authProvider: Provider): Connection => {
    const transport = new FirstTransport(new URL(mcp), { authProvider: authProvider as never })
    const client = new FirstClient({ name: 'test', version: '1.0.0' })
    return {
      connect: () => client.connect(transport as never),
      call: (name, given) => client.callTool({ name, arguments: given }),
      tools: async () => (await client.listTools()).tools.map(({ name }) => name),
      finish: (answer: URL) => transport.finishAuth(answer.searchParams.get('code') ?? ''),
      /** At a 403 it refreshes, which brings no further scope, and gives up; the app then starts a login. */
      giveUp: async ({ message }: Error) => {
        if (!message.includes('upscoping')) return
        const tokens = await authProvider.tokens()
        await authProvider.invalidateCredentials?.('tokens')
        await auth(authProvider as never, { serverUrl: mcp, scope: `${tokens?.scope} notes:write` })
      },
    }
  },
  '@modelcontextprotocol/client 2': (mcp: string, authProvider: Provider): Connection => {
    const transport = new second.StreamableHTTPClientTransport(new URL(mcp), { authProvider })
    const client = new second.Client({ name: 'test', version: '1.0.0' })
    return {
      connect: () => client.connect(transport),
      call: (name, given) => client.callTool({ name, arguments: given }),
      tools: async () => (await client.listTools()).tools.map(({ name }) => name),
      finish: (answer: URL) => transport.finishAuth(answer.searchParams),
      giveUp: async () => {},
    }
  },
}

/** A desktop app that uses the tools of an MCP server, with the SDK's own OAuth code. */
export interface McpApp {
  readonly kept: ReturnType<typeof createStore>['kept']
  /**
   * Calls a tool; whenever the client asks for a login, the user allows it in the browser and the client connects again.
   *
   * @returns the text of the tool, and the scopes of each authorization request
   */
  use(tool: string, given?: Readonly<Record<string, unknown>>): Promise<{ said?: string; asked: string[] }>
  /** The names of the tools that the server shows now, after a first use. */
  tools(): Promise<string[]>
}

export const createMcpApp = ({
  mcp,
  browser,
  client,
  ...given
}: {
  readonly mcp: string
  readonly browser: RawBrowser
  readonly client: keyof typeof mcpClients
  readonly clientMetadataUrl?: string
  readonly known?: StoredClient
}): McpApp => {
  const { kept, provider } = createStore(given)
  const open = () => mcpClients[client](mcp, provider)
  let connection = open()
  let isConnected = false
  return {
    kept,
    tools: () => connection.tools(),
    use: async (tool, given) => {
      const asked: string[] = []
      for (;;) {
        try {
          delete kept.asked
          if (!isConnected) await connection.connect()
          isConnected = true
          const result = (await connection.call(tool, given)) as { content: { text: string }[] }
          return { said: result.content[0]?.text, asked }
        } catch (error) {
          await connection.giveUp(error as Error)
          if (kept.asked === undefined || asked.length > 2) throw error
          asked.push(kept.asked.searchParams.get('scope') ?? '')
          expect(kept.asked.searchParams.get('resource')).toBe(mcp)
          await connection.finish(locationOf(await browser.grant(kept.asked.href)))
          connection = open()
          isConnected = false
        }
      }
    },
  }
}
