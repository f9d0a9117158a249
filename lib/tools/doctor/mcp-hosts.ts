/** One thing that an MCP host does, in the words of the MCP specification of 2026-07-28. */
export type McpStep =
  /** Calls the MCP server without a token and reads the challenge. */
  | 'challenge'
  /** Reads `/.well-known/oauth-protected-resource` (RFC 9728), with the path of the MCP server. */
  | 'resource-document'
  /** Reads `/.well-known/oauth-authorization-server` with the path of the issuer (RFC 8414). */
  | 'metadata'
  /** Reads the same at the root of the MCP server's origin, as revision 2025-03-26 says. */
  | 'root-metadata'
  /** Sends {@link McpHost.registration} to the registration endpoint (RFC 7591). */
  | 'registration'
  /** Uses the URL of {@link McpHost.document} as its id. */
  | 'document'
  | 'authorize'
  | 'token'
  | 'call'
  | 'refresh'

/** How an MCP host introduces itself and logs in, as far as a server can see it. */
export interface McpHost {
  /** A short name for command lines. */
  readonly id: string
  readonly name: string
  /** The version that the record is of, if it is known. */
  readonly version?: string
  /** Its steps, in order. */
  readonly steps: readonly McpStep[]
  /** The body of its registration. */
  readonly registration?: Readonly<Record<string, unknown>>
  /** The metadata document that it publishes, with the URL as `client_id`. */
  readonly document?: Readonly<Record<string, unknown>> & { readonly client_id: string }
  /** The redirect URI of its authorization requests. */
  readonly redirectUri: string
  /** The origin of the web page that sends its requests, which the server has to allow by CORS. */
  readonly page?: string
  /** The scopes that it asks for: those of the first challenge, all of the resource, or none. */
  readonly scopes: 'challenge' | 'resource' | 'none'
  /** Whether it adds `offline_access` if the metadata lists it. */
  readonly offlineAccess: boolean
  /** Whether it names the resource in both requests (RFC 8707). */
  readonly resource: boolean
  /** Where this is written, and the date of it. */
  readonly source: { readonly url: string; readonly date: string }
}

const refreshing = ['authorization_code', 'refresh_token']
const publicClient = {
  grant_types: refreshing,
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
}
const byRegistration = [
  'challenge',
  'resource-document',
  'metadata',
  'registration',
  'authorize',
  'token',
  'call',
  'refresh',
] as const satisfies readonly McpStep[]
const byDocument = [
  'challenge',
  'resource-document',
  'metadata',
  'document',
  'authorize',
  'token',
  'call',
  'refresh',
] as const satisfies readonly McpStep[]
/** Clients of revision 2025-03-26 know no document about the resource. */
const ofRoot = [
  'challenge',
  'root-metadata',
  'registration',
  'authorize',
  'token',
  'call',
  'refresh',
] as const satisfies readonly McpStep[]

/**
 * Hosts whose requests are known, each with the source of its redirect URIs and of what it does otherwise than the MCP SDK. All
 * other members are what the SDK sends; ports and ids in URIs are examples.
 */
export const mcpHosts: readonly McpHost[] = [
  {
    id: 'claude',
    name: 'claude.ai',
    steps: byRegistration,
    registration: {
      ...publicClient,
      client_name: 'Claude',
      redirect_uris: ['https://claude.ai/api/mcp/auth_callback'],
    },
    redirectUri: 'https://claude.ai/api/mcp/auth_callback',
    scopes: 'challenge',
    offlineAccess: true,
    resource: true,
    source: { url: 'https://github.com/anthropics/claude-ai-mcp/issues/364', date: '2026-05-26' },
  },
  {
    id: 'claude-code',
    name: 'Claude Code',
    version: '2.1.332',
    steps: byDocument,
    document: {
      ...publicClient,
      client_id: 'https://claude.ai/oauth/claude-code-client-metadata',
      client_name: 'Claude Code',
      redirect_uris: ['http://localhost/callback', 'http://127.0.0.1/callback'],
    },
    redirectUri: 'http://localhost:54545/callback',
    scopes: 'challenge',
    offlineAccess: true,
    resource: true,
    source: { url: 'https://www.npmjs.com/package/@anthropic-ai/claude-code', date: '2026-11-26' },
  },
  {
    id: 'chatgpt',
    name: 'ChatGPT',
    steps: byDocument,
    // It has this id and URI where the server sends `iss` with its answers (RFC 9207), otherwise some of each connection. The
    // audience of its assertions is the token endpoint.
    document: {
      ...publicClient,
      client_id: 'https://chatgpt.com/oauth/client.json',
      client_uri: 'https://chatgpt.com/',
      client_name: 'ChatGPT',
      logo_uri: 'https://persistent.oaistatic.com/sonic/misc/openai-logo.png',
      redirect_uris: ['https://chatgpt.com/connector_platform_oauth_redirect'],
      token_endpoint_auth_method: 'private_key_jwt',
      token_endpoint_auth_methods_supported: ['none', 'private_key_jwt'],
      token_endpoint_auth_signing_alg: 'RS256',
      jwks_uri: 'https://chatgpt.com/oauth/jwks.json',
    },
    redirectUri: 'https://chatgpt.com/connector_platform_oauth_redirect',
    scopes: 'resource',
    offlineAccess: true,
    resource: true,
    source: {
      url: 'https://github.com/django-oauth/django-oauth-toolkit/issues/1845',
      date: '2026-08-26',
    },
  },
  {
    id: 'grok',
    name: 'Grok',
    steps: byDocument,
    document: {
      ...publicClient,
      client_id: 'https://grok.com/oauth/mcp-client.json',
      client_uri: 'https://grok.com',
      client_name: 'Grok',
      logo_uri: 'https://grok.com/icon-512x512.png',
      redirect_uris: [
        'https://grok.com/connectors-oauth-exchange-code/',
        'https://console.x.ai/connectors-oauth-exchange-code/',
      ],
    },
    redirectUri: 'https://grok.com/connectors-oauth-exchange-code/',
    scopes: 'resource',
    offlineAccess: false,
    resource: true,
    source: { url: 'https://github.com/koala73/worldmonitor/pull/8307', date: '2026-09-17' },
  },
  {
    id: 'codex',
    name: 'Codex',
    version: '0.171.0',
    steps: byDocument,
    document: {
      ...publicClient,
      client_id: 'https://chatgpt.com/oauth/codex/client.json',
      client_name: 'Codex',
      redirect_uris: ['http://127.0.0.1/callback', 'http://localhost/callback'],
    },
    redirectUri: 'http://127.0.0.1:41237/callback',
    scopes: 'challenge',
    offlineAccess: true,
    resource: true,
    source: { url: 'https://www.npmjs.com/package/@openai/codex', date: '2026-11-26' },
  },
  {
    id: 'cursor',
    name: 'Cursor',
    steps: byRegistration,
    registration: {
      ...publicClient,
      client_name: 'Cursor',
      redirect_uris: [
        'cursor://anysphere.cursor-mcp/oauth/callback',
        'https://www.cursor.com/agents/mcp/oauth/callback',
        'http://localhost:8787/callback',
      ],
    },
    redirectUri: 'cursor://anysphere.cursor-mcp/oauth/callback',
    scopes: 'resource',
    offlineAccess: false,
    resource: true,
    source: { url: 'https://github.com/erp-mafia/accounted/pull/2225', date: '2026-09-03' },
  },
  {
    id: 'vscode',
    name: 'VS Code',
    steps: byRegistration,
    registration: {
      ...publicClient,
      client_name: 'Visual Studio Code',
      client_uri: 'https://code.visualstudio.com',
      application_type: 'native',
      grant_types: [...refreshing, 'urn:ietf:params:oauth:grant-type:device_code'],
      redirect_uris: [
        'https://insiders.vscode.dev/redirect',
        'https://vscode.dev/redirect',
        'http://127.0.0.1/',
        'http://127.0.0.1:33418/',
      ],
    },
    redirectUri: 'http://127.0.0.1:59656/',
    scopes: 'resource',
    offlineAccess: false,
    resource: true,
    source: { url: 'https://github.com/microsoft/vscode/issues/278512', date: '2025-11-20' },
  },
  {
    id: 'zed',
    name: 'Zed',
    version: '1.1.6',
    steps: byDocument,
    document: {
      ...publicClient,
      client_id: 'https://zed.dev/oauth/client-metadata.json',
      client_name: 'Zed',
      redirect_uris: ['http://127.0.0.1/callback'],
    },
    redirectUri: 'http://127.0.0.1:52144/callback',
    scopes: 'challenge',
    offlineAccess: false,
    resource: true,
    source: { url: 'https://github.com/zed-industries/zed/issues/56210', date: '2026-05-08' },
  },
  {
    id: 'cline',
    name: 'Cline',
    version: '3.56.2',
    steps: byRegistration,
    registration: {
      ...publicClient,
      client_name: 'Cline',
      client_uri: 'https://cline.bot',
      software_id: 'cline',
      redirect_uris: ['vscode://saoudrizwan.claude-dev/mcp-auth/callback/5f3a9c'],
    },
    redirectUri: 'vscode://saoudrizwan.claude-dev/mcp-auth/callback/5f3a9c',
    scopes: 'none',
    offlineAccess: false,
    resource: true,
    source: { url: 'https://github.com/cline/cline/issues/9116', date: '2026-02-05' },
  },
  {
    id: 'warp',
    name: 'Warp',
    steps: ofRoot,
    registration: {
      ...publicClient,
      client_name: 'Warp',
      redirect_uris: ['warp://mcp/oauth2callback'],
    },
    redirectUri: 'warp://mcp/oauth2callback',
    scopes: 'resource',
    offlineAccess: false,
    // It leaves the resource out; the second source is https://github.com/warpdotdev/warp/issues/9088 of 2026-04-16.
    resource: false,
    source: { url: 'https://github.com/warpdotdev/docs/pull/422', date: '2026-07-29' },
  },
  {
    id: 'inspector',
    name: 'Inspector, connection type Direct',
    steps: byRegistration,
    page: 'http://localhost:6274',
    registration: {
      ...publicClient,
      client_name: 'MCP Inspector',
      client_uri: 'https://github.com/modelcontextprotocol/inspector',
      redirect_uris: ['http://localhost:6274/oauth/callback', 'http://localhost:6274/oauth/callback/debug'],
    },
    redirectUri: 'http://localhost:6274/oauth/callback',
    scopes: 'resource',
    offlineAccess: false,
    resource: true,
    source: {
      url: 'https://github.com/modelcontextprotocol/inspector/blob/006abfb83ae6d2a8f1361a039f41d54429966a88/client/src/lib/auth.ts',
      date: '2026-11-26',
    },
  },
]
