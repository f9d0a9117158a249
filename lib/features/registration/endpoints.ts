import { hashSecret, isEqual } from '../../keys/secrets.ts'
import { OAuthError } from '../../protocol/errors.ts'
import { sizes } from '../../protocol/lengths.ts'
import { refusal } from '../../protocol/refusal.ts'
import { callHost } from '../../users/host-function.ts'
import type { Context } from '../../web/http/context.ts'
import type { Endpoint } from '../../web/http/endpoint.ts'
import { readJson } from '../../web/http/json.ts'
import { bearerToken, withChallenge } from '../../web/http/presented-token.ts'
import { sendEmpty, sendJson } from '../../web/http/send.ts'
import type { RegistrationOption } from './option.ts'
import {
  readRegistration,
  registerSelf,
  registrationAnswer,
  removeRegistration,
  replaceRegistration,
} from './registration.ts'

/** The client configuration endpoint (RFC 7592 §3). */
const uriOf = ({ server }: Context, clientId: string): string =>
  `${server.issuer}/register/${encodeURIComponent(clientId)}`

const isInitialToken = async (
  { initialAccessToken: expected }: RegistrationOption,
  token: string,
): Promise<boolean> => {
  if (typeof expected === 'function') {
    return (await callHost('registration({ initialAccessToken })', () => expected(token))) === true
  }
  return expected !== undefined && isEqual(hashSecret(token), hashSecret(expected))
}

/** RFC 7591 §3: a token of the host's, if the host requires one. */
const assertInitialToken = async ({ req }: Context, option: RegistrationOption): Promise<void> => {
  if (option.initialAccessToken === undefined) return
  if (await isInitialToken(option, bearerToken(req))) return
  throw refusal('initial_token_wrong')
}

/** Limits wrong tokens, and sends each error with its challenge (RFC 6750 §3). */
const withToken = async <T>({ server, info }: Context, work: () => Promise<T>): Promise<T> => {
  const throttle = server.throttle.of({ limit: 'register' })
  await throttle.assertOpen(info)
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof OAuthError && error.code === 'invalid_token')) throw error
    const limited = await throttle.failed(info)
    throw limited ?? withChallenge(error)
  }
}

/** RFC 7591 §3: dynamic client registration. */
export const registerEndpoint = (option: RegistrationOption): Endpoint<Context> => ({
  path: '/register',
  metadataName: 'registration_endpoint',
  cors: true,
  limit: 'register',
  methods: {
    async POST(context) {
      const { server, req, res, info } = context
      await withToken(context, () => assertInitialToken(context, option))
      const registration = await registerSelf(server, option, await readJson(req, sizes.form), info)
      const { client_id: clientId } = registration
      sendJson(res, registrationAnswer(registration, uriOf(context, clientId)), { status: 201 })
    },
  },
})

const clientIdOf = ({ req }: Context): string => String(req.params.client_id)

/** RFC 7592 §2: a client reads, replaces or removes its own registration. */
export const registrationEndpoint = (option: RegistrationOption): Endpoint<Context> => ({
  path: '/register/:client_id',
  cors: true,
  methods: {
    GET: async (context) => {
      const clientId = clientIdOf(context)
      const registration = await withToken(context, () =>
        readRegistration(context.server, clientId, bearerToken(context.req)),
      )
      sendJson(context.res, registrationAnswer(registration, uriOf(context, clientId)))
    },
    PUT: async (context) => {
      const { server, req, res, info } = context
      const clientId = clientIdOf(context)
      const registration = await withToken(context, async () => {
        const [token, input] = [bearerToken(req), await readJson(req, sizes.form)]
        return replaceRegistration(server, option, clientId, { token, input, info })
      })
      sendJson(res, registrationAnswer(registration, uriOf(context, clientId)))
    },
    DELETE: async (context) => {
      const { server, req, res, info } = context
      const clientId = clientIdOf(context)
      await withToken(context, () => removeRegistration(server, clientId, bearerToken(req), info))
      sendEmpty(res, 204, { 'Cache-Control': 'no-store' })
    },
  },
})
