// What vendors publish about their clients, at the addresses that the clients send as their ids.

/** By URL; each has its URL as `client_id`. */
export const documents: Readonly<Record<string, Readonly<Record<string, unknown>>>> = Object.fromEntries(
  Object.entries({
    'https://claude.ai/oauth/claude-code-client-metadata': {
      client_name: 'Claude Code',
      redirect_uris: ['http://localhost/callback', 'http://127.0.0.1/callback'],
    },
    'https://chatgpt.com/oauth/codex/client.json': {
      client_name: 'Codex',
      redirect_uris: ['http://127.0.0.1/callback', 'http://localhost/callback'],
    },
    'https://opencode.ai/oauth/opencode/client.json': {
      client_name: 'opencode',
      client_uri: 'https://opencode.ai',
      redirect_uris: ['http://127.0.0.1/callback', 'http://localhost/callback'],
    },
    'https://github.com/copilot/cli/client-metadata.json': {
      client_name: 'GitHub Copilot CLI',
      redirect_uris: ['http://127.0.0.1:33418/'],
    },
  }).map(([url, document]) => [
    url,
    {
      client_id: url,
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      ...document,
    },
  ]),
)
