import type { Attack } from '../attack.ts'
import { errorIn } from '../flow.ts'
import { described, wrongAnswers } from '../outcome.ts'
import { asClient, basicHeader, program } from '../tokens.ts'
import type { Answer } from '../wire.ts'

/** The client must be refused before the request is read, so its content does not matter. */
const asked = { grant_type: 'authorization_code', code: 'made-up', redirect_uri: 'https://attacker.example/' }

const isClientRefused = (answer: Answer): boolean =>
  answer.status < 500 && ['invalid_client', 'invalid_request'].includes(errorIn(answer))

const wrong = (answers: Readonly<Record<string, Answer>>): string[] => wrongAnswers(answers, isClientRefused)

const remedy = 'Do not add, complete or accept client credentials before the router.'

/** With `storedEvents`, each answer names itself. */
const withoutErrorId = ({ body }: Answer): string => body.replace(/"error_id":"[^"]*"/, '')

const secrets: Attack = {
  name: 'a client without its secret, with a wrong one, or with two',
  source: 'RFC 6749 §2.3 and §5.2',
  expected:
    'invalid_client, or invalid_request for two methods at once; a wrong secret looks like an unknown client',
  remedy,
  run: async (target) => {
    const { client_id, client_secret } = target.options.client
    if (client_secret === undefined) return { skipped: 'the client is public' }
    const wrongSecret = { client_id, client_secret: `${client_secret}x`, method: target.credentials.method }
    const unknown = { ...wrongSecret, client_id: 'nobody-registered-this' }
    const mistaken = await asClient(target, '/token', asked, wrongSecret)
    const foreign = await asClient(target, '/token', asked, unknown)
    const deviations = wrong({
      'no secret': await program(target, '/token', { ...asked, client_id }),
      'a wrong secret': mistaken,
      'an unknown client': foreign,
      'header and form at once': await program(
        target,
        '/token',
        { ...asked, client_id, client_secret },
        { authorization: basicHeader({ client_id, client_secret }) },
      ),
    })
    const [one, other] = [mistaken, foreign].map(withoutErrorId)
    const isAlike = mistaken.status === foreign.status && one === other
    return isAlike
      ? deviations
      : [...deviations, `wrong: ${described(mistaken)}; unknown: ${described(foreign)}`]
  },
}

/** Logs, histories and Referer headers store URLs. */
const inQuery: Attack = {
  name: 'client credentials in the URL',
  source: 'RFC 6749 §2.3.1 and §3.2',
  expected: 'refused, because credentials in the URL are ignored',
  remedy: 'Do not merge the query into the body before the router, and do not route GET to POST /token.',
  run: async (target) => {
    const { client_id, client_secret = '' } = target.options.client
    const query = new URLSearchParams({ client_id, client_secret })
    const everything = new URLSearchParams({ client_id, client_secret, ...asked })
    return wrong({
      'POST with the credentials in the query': await program(target, `/token?${query}`, asked),
      'POST with everything in the query': await program(target, `/token?${everything}`, {}),
      'GET with everything in the query': await target.browser().get(target.path(`/token?${everything}`)),
    })
  },
}

const introspection: Attack = {
  name: 'introspection without a client',
  source: 'RFC 7662 §2.1 and §4',
  expected: 'invalid_client or invalid_request',
  remedy,
  run: async (target) =>
    wrong({ 'without a client': await program(target, '/introspect', { token: 'made-up' }) }),
}

export const clientAuthenticationAttacks = [secrets, inQuery, introspection]
