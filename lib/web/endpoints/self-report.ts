import { isOperatorCode } from '../../keys/operator-code.ts'
import type { Problem } from '../../protocol/problem.ts'
import { refusal } from '../../protocol/refusal.ts'
import type { Context } from '../http/context.ts'
import { setCookie } from '../http/cookies.ts'
import type { Endpoint } from '../http/endpoint.ts'
import { formParameters } from '../http/form.ts'
import { sendJson } from '../http/send.ts'
import {
  describeHostSession,
  type HostSession,
  hasHostSession,
  hostSessionProblem,
  passportProblem,
} from '../sessions/host-session.ts'
import { isOwnSession } from '../sessions/session.ts'

/** Facts about the configuration that only the running app knows. They contain no secret. */
export interface SelfReport {
  readonly production: boolean
  /** The version of Node. */
  readonly node: string
  /** The setting `trust proxy` of the app; of a function or a list only its type. */
  readonly trustProxy: boolean | number | string
  /** The session of the host, if the pages use it. */
  readonly session?: HostSession
  /** Why the pages cannot use the session of the host. */
  readonly sessionProblem?: Problem
  /** Whether the app has a session that the pages do not use, without an option that tells them not to. */
  readonly ignoresSession: boolean
  /** Why requests have no login of Passport here, although the app uses it. */
  readonly passportProblem?: Problem
  /** The scopes that guards in this process require. */
  readonly guardedScopes: readonly string[]
  /** The line `Set-Cookie` of this answer, as it leaves Latchkey. */
  readonly cookie: string
}

const simple = (setting: unknown): SelfReport['trustProxy'] =>
  typeof setting === 'boolean' || typeof setting === 'number' ? setting : typeof setting

const report = async (context: Context): Promise<SelfReport> => {
  const { server, req, res } = context
  const { options, guardedScopes } = server
  const session = isOwnSession(server) ? undefined : await describeHostSession(context)
  const sessionProblem = isOwnSession(server) ? undefined : hostSessionProblem(req)
  const passport = passportProblem(req)
  setCookie(server, res, { purpose: 'doctor', value: '1' })
  return {
    production: options.production,
    node: process.versions.node,
    trustProxy: simple(req.app.get('trust proxy')),
    ...(passport !== undefined && { passportProblem: passport }),
    guardedScopes: [...guardedScopes].sort(),
    ...(session && { session }),
    ...(sessionProblem !== undefined && { sessionProblem }),
    ignoresSession: options.session === undefined && hasHostSession(req),
    cookie: String([res.getHeader('Set-Cookie')].flat().at(-1)),
  }
}

/** @throws OAuthError `invalid_request` with status 404 unless the request is signed with the secret of the server */
const assertOperator = ({ server, req }: Context): void => {
  const [, code = ''] = /^Operator (.+)$/.exec(req.headers.authorization ?? '') ?? []
  if (!isOperatorCode(code, server.options.secrets, server.now()))
    throw refusal('parameter_invalid', {
      values: { parameter: 'there', problem: 'is nothing here' },
      status: 404,
    })
}

/**
 * Tells `latchkey doctor`, which signs its request with the secret of the server, how the app is set up, and how a form and a
 * cookie arrive. Any other request gets 404.
 */
export const selfReportEndpoint: Endpoint<Context> = {
  path: '/doctor',
  methods: {
    async GET(context) {
      assertOperator(context)
      sendJson(context.res, await report(context))
    },
    POST(context) {
      assertOperator(context)
      sendJson(context.res, { received: formParameters(context.req).first('text') ?? '' })
    },
  },
}
