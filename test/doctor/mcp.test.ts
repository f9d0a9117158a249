import express, { type Express, type RequestHandler } from 'express'
import { clientMetadataDocuments, registration } from '../../lib/features/index.ts'
import type { AuthRouterOptions } from '../../lib/index.ts'
import { diagnoseMcp, type McpDiagnosis, mcpHosts, requestAnswer } from '../../lib/tools/doctor/index.ts'
import { listen, openServer, type TestServer } from '../support/client-server.ts'
import { openCommandLine } from '../support/command-line.ts'
import { type Host, startHost } from '../support/host.ts'
import { publishDocuments } from '../support/mcp-player.ts'

// The eight mistakes that the recorder names as well are in test/flows/connections.test.ts.

const origin = 'http://localhost:3000'
const mcp = `${origin}/mcp`
/** Where nothing listens. */
const elsewhere = 'http://127.0.0.1:1'

let host: Host
let server: TestServer | undefined
let documents: TestServer
beforeEach(async () => {
  documents = await publishDocuments(mcpHosts)
})
afterEach(async () => {
  jest.restoreAllMocks()
  await Promise.all([server?.close(), documents.close(), host.close()])
  server = undefined
})

interface Plan {
  readonly origin?: string
  readonly features?: AuthRouterOptions['features']
  readonly scopes?: readonly string[]
  readonly before?: RequestHandler
  readonly withoutGuard?: boolean
  /** The resource of the guard, if it is not the MCP server. */
  readonly guarded?: string
  /** Whether the server knows only the resource of the guard. */
  readonly knowsOnlyGuarded?: boolean
  /** What a proxy changes in JSON below a path. */
  readonly changed?: readonly [path: string, members: Readonly<Record<string, unknown>>]
}

const pass: RequestHandler = (_req, _res, next) => next()

const start = async ({ before = pass, ...plan }: Plan = {}): Promise<Express> => {
  const resource = `${plan.origin ?? origin}/mcp`
  host = await startHost({
    clients: [],
    options: {
      issuer: `${plan.origin ?? origin}/oauth`,
      resources: Object.fromEntries(
        [...(plan.knowsOnlyGuarded ? [] : [resource]), ...(plan.guarded ? [plan.guarded] : [])].map(
          (each) => [each, { name: 'Notes', scopes: [...(plan.scopes ?? ['notes:read', 'notes:write'])] }],
        ),
      ),
      outbound: {
        allowSelfDescribed: mcpHosts.flatMap(({ document }) =>
          document ? new URL(document.client_id).origin : [],
        ),
      },
      features: plan.features ?? [registration(), clientMetadataDocuments()],
    },
  })
  const app = express()
  app.use(before)
  app.use('/oauth', host.oauth)
  app.use(host.oauth.wellKnown)
  const guard = host.oauth.requireToken('notes:read', {
    resource: plan.guarded ?? resource,
    ask: 'notes:write',
  })
  app.all('/mcp', plan.withoutGuard ? pass : guard, (_req, res) => void res.json({}))
  return app
}

const diagnose = async (
  app: Express,
  ids?: readonly string[],
  [path, members]: NonNullable<Plan['changed']> = ['/none', {}],
): Promise<McpDiagnosis> => {
  server = await listen(app)
  const { origin: there } = server
  return diagnoseMcp(mcp, {
    ask: async (url, init) => {
      const answer = await requestAnswer(url.replace(origin, there), init)
      const isChanged = new URL(url).pathname.startsWith(path)
      return isChanged ? { ...answer, json: answer.json && { ...answer.json, ...members } } : answer
    },
    now: () => Math.floor(Date.now() / 1000),
    hosts: mcpHosts.filter(({ id }) => ids?.includes(id) ?? true),
  })
}

/** The cause at which each host stopped. */
const stops = ({ hosts }: McpDiagnosis): Record<string, string | undefined> =>
  Object.fromEntries(hosts.map(({ host: { id }, stop }) => [id, stop?.cause.name]))

const everywhere = (cause: string | undefined): Record<string, string | undefined> =>
  Object.fromEntries(mcpHosts.map(({ id }) => [id, cause]))

const clientIds = (): Promise<string[]> => host.table('clients').pluck('client_id')

test('every known host reaches sign-in at the app of docs/mcp.md and leaves no registration', async () => {
  const found = await diagnose(await start())
  expect(stops(found)).toEqual({ ...everywhere(undefined), inspector: 'cors' })
  expect(found.findings).toEqual([expect.objectContaining({ check: 'cors', level: 'warning' })])
  expect((await clientIds()).sort()).toEqual(
    mcpHosts.flatMap(({ document }) => document?.client_id ?? []).sort(),
  )
})

const cors: RequestHandler = (req, res, next) => {
  res.set({
    'Access-Control-Allow-Origin': '*',
    'Access-Control-Allow-Headers': 'Authorization, Content-Type, MCP-Protocol-Version',
    'Access-Control-Expose-Headers': 'WWW-Authenticate',
  })
  if (req.method === 'OPTIONS') res.sendStatus(204)
  else next()
}

test('a web page reaches it as well if the route has CORS', async () => {
  const app = await start({
    before: (req, res, next) => (req.path === '/mcp' ? cors(req, res, next) : next()),
  })
  expect(stops(await diagnose(app, ['inspector']))).toEqual({ inspector: undefined })
})

const metadataPath = '/.well-known/oauth-authorization-server'

/** Each with a host that registers, one with a document, and one of revision 2025-03-26. */
const planted: readonly (readonly [string, Plan, Readonly<Record<string, string | undefined>>])[] = [
  [
    'a route without a guard',
    { withoutGuard: true },
    { claude: 'no-challenge', zed: 'no-challenge', warp: 'no-challenge' },
  ],
  [
    'a URL that is not the public one of the resource',
    { guarded: `${elsewhere}/mcp`, knowsOnlyGuarded: true },
    { claude: 'unknown-resource', zed: 'unknown-resource' },
  ],
  [
    'registration that is off',
    { features: [clientMetadataDocuments()] },
    { claude: 'no-registration', zed: undefined, warp: 'not-at-root' },
  ],
  [
    'documents that are off: their clients register',
    { features: [registration()] },
    { claude: undefined, zed: undefined, warp: undefined },
  ],
  ['both off', { features: [] }, { claude: 'no-registration', zed: 'no-documents', warp: 'not-at-root' }],
  [
    'registration that needs a token',
    {
      features: [
        registration({ initialAccessToken: 'an-initial-access-token-of-the-host' }),
        clientMetadataDocuments(),
      ],
    },
    { claude: 'registration-refused', zed: undefined, warp: 'registration-refused' },
  ],
  [
    'metadata of another issuer',
    { changed: [metadataPath, { issuer: 'https://other.example.com' }] },
    { claude: 'other-issuer', zed: 'other-issuer', warp: undefined },
  ],
  [
    'metadata without S256',
    { changed: [metadataPath, { code_challenge_methods_supported: ['plain'] }] },
    { claude: 'no-pkce', zed: 'no-pkce', warp: 'no-pkce' },
  ],
  [
    'a document about the resource without a server',
    { changed: ['/.well-known/oauth-protected-resource', { authorization_servers: [] }] },
    { claude: 'no-metadata', zed: 'no-metadata', warp: undefined },
  ],
  [
    'a scope of the guard that the resource has not',
    { scopes: ['notes:read'] },
    { claude: 'scope-missing', chatgpt: 'scope-missing', cline: 'scope-missing' },
  ],
  [
    'metadata that is at the mount only',
    { before: (req, res, next) => (req.path.startsWith(metadataPath) ? void res.sendStatus(404) : next()) },
    { claude: undefined, zed: undefined, warp: 'not-at-root' },
  ],
  [
    'a sign-in that fails',
    { before: (req, res, next) => (req.path === '/oauth/authorize' ? void res.sendStatus(502) : next()) },
    { claude: 'failed', zed: 'failed', warp: 'failed' },
  ],
]

test.each(planted)('%s is named', async (_, plan, expected) => {
  const found = await diagnose(await start(plan), Object.keys(expected), plan.changed)
  expect(stops(found)).toEqual(expected)
  const causes = new Set(Object.values(expected).filter((cause) => cause !== undefined))
  expect(new Set(found.findings.map(({ check }) => check))).toEqual(causes)
})

test.each([`${elsewhere}/files`, `${origin}/files`])(
  'a guard of the other resource %s is named with its remedy',
  async (guarded) => {
    const { findings } = await diagnose(await start({ guarded }), ['claude'])
    expect(findings).toEqual([
      {
        check: 'other-guard',
        level: 'error',
        message: `The guard at /mcp names the resource ${guarded}, and so requires tokens for it, and not for ${mcp}`,
        fix: `Give the guard at /mcp this resource: requireToken(scope, { resource: '${mcp}' })`,
      },
    ])
  },
)

test('a document that this server cannot read is named with the reason', async () => {
  const app = await start()
  documents.serve((_req, res) => void res.writeHead(404).end())
  const { hosts, findings } = await diagnose(app, ['zed'])
  expect(hosts[0]?.stop).toMatchObject({ step: 'authorize', cause: { name: 'document-unreadable' } })
  expect(findings[0]?.message).toMatch(/cannot be used: .*404/)
})

test('a registration that cannot be removed is noted with its id', async () => {
  const isRemoval: RequestHandler = (req, res, next) =>
    req.method === 'DELETE' ? void res.sendStatus(405) : next()
  const { findings } = await diagnose(await start({ before: isRemoval }), ['claude'])
  const [left] = await clientIds()
  expect(findings).toEqual([
    expect.objectContaining({ check: 'left-client', level: 'note', message: expect.stringContaining(left!) }),
  ])
  const [stored] = await host.table('clients').pluck('metadata')
  expect(JSON.parse(stored).client_name).toBe('Claude (latchkey doctor)')
})

describe('latchkey doctor --mcp', () => {
  const cli = openCommandLine()
  afterAll(() => cli.close())

  const open = async (plan: Plan = {}): Promise<string> => {
    server = await openServer()
    server.serve(await start({ ...plan, origin: server.origin }))
    return `${server.origin}/mcp`
  }

  test('prints a line for each host, needs no configuration, and has exit code 0 without an error', async () => {
    const url = await open()
    const hosts = ['claude', 'codex', 'inspector'].flatMap((id) => ['--host', id])
    const { stdout } = await cli.succeed(cli.folder(), ['doctor', '--mcp', url].concat(hosts))
    expect(stdout).toMatch(/^✓ {2}claude\.ai +reaches the sign-in$/m)
    expect(stdout).toMatch(/^✓ {2}Codex +reaches the sign-in$/m)
    expect(stdout).toMatch(/^✗ {2}Inspector.* stops at the step challenge \(cors\)$/m)
    expect(stdout).toMatch(/^warning {2}The browser keeps .* \(cors\)\n {2}fix: Add CORS/m)
  })

  test('an error has exit code 1, once for all hosts, and --json is for programs', async () => {
    const url = await open({ withoutGuard: true })
    const { code, stdout, stderr } = await cli.run(cli.folder(), ['doctor', '--mcp', url, '--json'])
    expect(code).toBe(1)
    expect(stderr).toContain('1 error was found')
    const { hosts, findings } = JSON.parse(stdout)
    expect(hosts).toHaveLength(mcpHosts.length)
    expect(hosts[0]).toEqual({
      id: 'claude',
      name: 'claude.ai',
      reachesSignIn: false,
      stopped: { step: 'challenge', cause: 'no-challenge' },
    })
    expect(findings).toEqual([
      expect.objectContaining({ check: 'no-challenge', message: expect.stringContaining(url) }),
    ])
  })

  test.each([
    ['a URL where nothing answers', ['--mcp', 'http://127.0.0.1:1/mcp'], 'cannot be reached'],
    ['what is no URL', ['--mcp', 'app.example.com'], '--mcp must begin with https://'],
    [
      'an unknown host',
      ['--mcp', mcp, '--host', 'nobody'],
      '--host nobody is unknown; the hosts are claude,',
    ],
    ['two URLs', ['--mcp', mcp, mcp], '--mcp takes the only URL'],
    ['a host without --mcp', ['--host', 'claude'], 'belong to --mcp'],
  ])('%s has exit code 2', async (_, args, message) => {
    host = await startHost()
    const { code, stderr } = await cli.run(cli.folder(), ['doctor', ...args])
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) })
  })
})
