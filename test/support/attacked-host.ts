import type { RequestListener } from 'node:http'
import type { Express, RequestHandler } from 'express'
import type { Attack } from '../../lib/tools/testing/attack.ts'
import { attacks } from '../../lib/tools/testing/attacks/index.ts'
import type { AttackOptions, AttackReport } from '../../lib/tools/testing/index.ts'
import { runAttacks } from '../../lib/tools/testing/run.ts'
import { callback, clients, type HostSettings, secret, startHost } from './host.ts'

/** A second client, for what belongs to the first. */
const other = {
  client_id: 'other',
  client_name: 'Other client',
  client_secret: `another-${secret}`,
  redirect_uris: ['https://other.example.com/callback'],
  scope: 'openid',
}

/** What a test host tells `attack()`. */
export const attackOptions: AttackOptions = {
  issuer: 'http://localhost:3000/oauth',
  client: {
    client_id: 'web',
    client_secret: secret,
    redirect_uri: callback,
    scope: 'openid email offline_access notes:read',
  },
  user: { username: 'ada@example.com', password: 'ada’s password' },
  otherClient: { client_id: other.client_id, client_secret: other.client_secret },
  api: '/api/notes',
}

export interface AttackedHost extends HostSettings {
  /** What else is told to `attack()`. */
  readonly told?: Partial<AttackOptions>
  /** What answers requests, when that is not the app itself: a proxy, a gateway. */
  readonly around?: (app: Express) => RequestListener
  /** What the host adds to its app after the router. */
  readonly after?: (app: Express) => void
}

/** Starts a host, attacks it, and stops it. */
export const attackHost = async (
  settings: AttackedHost = {},
  tried: readonly Attack[] = attacks,
): Promise<AttackReport> => {
  const { told = {}, around = (app: Express) => app, after = () => {}, ...host } = settings
  const started = await startHost({ clients: [...clients, other], ...host })
  try {
    after(started.app)
    return await runAttacks(tried, around(started.app), { ...attackOptions, ...told })
  } finally {
    await started.close()
  }
}

/** Asserts what was found, and shows the whole report where it is something else. */
export const expectFindings = (report: AttackReport, expected: Readonly<Record<string, RegExp>>): void => {
  const { findings } = report
  const isRight =
    findings.map(({ attack: name }) => name).join('\n') === Object.keys(expected).join('\n') &&
    findings.every(({ attack: name, actual }) => expected[name]?.test(actual))
  if (!isRight) throw new Error(`expected ${Object.keys(expected).join(', ')}\n\n${report}`)
}

/** Changes the headers of every answer just before it is sent, as a proxy or a hook does. */
export const rewritingHeaders =
  (rewrite: (headers: Map<string, number | string | string[]>) => void): RequestHandler =>
  (_req, res, next) => {
    const { writeHead } = res
    const changed = (...parameters: unknown[]): unknown => {
      const headers = new Map(
        Object.entries(res.getHeaders()).flatMap(([name, value]) =>
          value === undefined ? [] : [[name, value]],
        ),
      )
      rewrite(headers)
      for (const name of res.getHeaderNames()) res.removeHeader(name)
      for (const [name, value] of headers) res.setHeader(name, value)
      return Reflect.apply(writeHead, res, parameters)
    }
    res.writeHead = changed as typeof writeHead
    next()
  }
