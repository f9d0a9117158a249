import { knownScopes } from '../../options/scopes.ts'
import { type Client, isPublic } from '../../protocol/clients/client.ts'
import { redirectUriKind } from '../../protocol/clients/redirect-uri.ts'
import { shellWord } from '../../protocol/foreign-text.ts'
import { listClients } from '../../storage/repositories/clients.ts'
import { type Check, type Found, type Level, note, type StoredSubject } from '../check.ts'

/** Domains of tunnels, and names that resolve to any address. Anyone could own such a host tomorrow. */
const borrowed =
  /\.(?:ngrok\.io|ngrok\.app|ngrok\.dev|ngrok-free\.(?:app|dev)|trycloudflare\.com|loca\.lt|localhost\.run|serveo\.net|nip\.io|sslip\.io|xip\.io|lvh\.me)$/

/** Something about a registered value. */
interface Problem {
  readonly level: Level
  /** The mistake, in words that follow the value. */
  readonly text: string
  readonly fix: string
}

/** A value of a client, and what is wrong with it. */
interface ClientProblem extends Problem {
  /** The kind of the value, such as `redirect URI`. */
  readonly kind: string
  readonly value: string
}

/** The command that changes a client. */
const change = ({ clientId }: Client, option: string): string =>
  `run: npx latchkey client update ${shellWord(clientId)} ${option}`

const redirectUriProblem = (uri: string, client: Client, { options }: StoredSubject): Problem | undefined => {
  const kind = redirectUriKind(uri)
  const fix = change(client, '--redirect-uri https://…')
  const hasSecret = !isPublic(client)
  if (uri.includes('*')) return { level: 'error', text: 'has a wildcard, which matches no request', fix }
  if (kind === 'http')
    return { level: 'error', text: 'sends codes over http, where others can read them', fix }
  if (kind === 'private-use') {
    return hasSecret
      ? {
          level: 'warning',
          text: 'is an app on a device, where no client secret stays secret',
          fix: `register the app as a public client: npx latchkey client create --public --redirect-uri ${shellWord(uri)}`,
        }
      : undefined
  }
  if (borrowed.test(new URL(uri).hostname))
    return { level: 'warning', text: 'is on a host that others may have tomorrow', fix }
  return kind === 'loopback' && options.production && hasSecret
    ? { level: 'note', text: 'is on the machine of the user, although the client has a secret', fix }
    : undefined
}

const redirectUriProblems = (client: Client, subject: StoredSubject): ClientProblem[] =>
  client.metadata.redirect_uris.flatMap((value) => {
    const problem = redirectUriProblem(value, client, subject)
    return problem ? [{ ...problem, kind: 'redirect URI', value }] : []
  })

const scopeProblems = (client: Client, { options }: StoredSubject): ClientProblem[] => {
  const scopes = (client.metadata.scope ?? '').split(' ').filter(Boolean)
  const known = knownScopes(options)
  const value = scopes.find((scope) => !known.includes(scope))
  if (value === undefined) return []
  const fix = `${change(client, `--scope '…'`)}, or add the scope to the option scopes`
  return [{ level: 'warning', kind: 'scope', value, text: 'is one that no token can have', fix }]
}

/** One finding for all clients that described themselves: a stranger must neither fill the report nor fail the command. */
const ofSelfDescribed = (problems: readonly ClientProblem[]): Found => {
  const kinds = problems.map(({ kind, text }) => `a ${kind} ${text}`)
  return [...new Set(kinds)].map((what) => {
    const count = kinds.filter((each) => each === what).length
    return note(
      `${what}: ${count} of clients that described themselves`,
      'see them with: npx latchkey client list',
    )
  })
}

/** The most clients that one finding names. */
const maxNamed = 3

/** One finding for each value: what several clients share is one mistake. */
const ofOwn = (problems: readonly (ClientProblem & { readonly clientId: string })[]): Found => {
  const keyOf = ({ kind, value, text }: ClientProblem): string => JSON.stringify([kind, value, text])
  return [...new Set(problems.map(keyOf))].flatMap((key) => {
    const alike = problems.filter((problem) => keyOf(problem) === key)
    const [first] = alike
    if (first === undefined) return []
    const { level, kind, value, text, fix } = first
    const named = alike.slice(0, maxNamed).map(({ clientId }) => clientId)
    const others = alike.length > maxNamed ? ` and ${alike.length - maxNamed} more` : ''
    const clients = `${alike.length === 1 ? 'client' : 'clients'} ${named.join(', ')}${others}`
    return [{ level, message: `${kind} ${value} of ${clients} ${text}`, fix }]
  })
}

type ProblemsOf = (client: Client, subject: StoredSubject) => ClientProblem[]

const enabledClients = async (
  { database, now }: StoredSubject,
  selfDescribed: boolean,
): Promise<readonly Client[]> => {
  const clients = await listClients(database, { limit: 1000, selfDescribed, now: now() })
  return clients.filter(({ disabledAt }) => disabledAt === null)
}

const ofEachClient =
  (problemsOf: ProblemsOf): Check<StoredSubject>['run'] =>
  async (subject) =>
    ofOwn(
      (await enabledClients(subject, false)).flatMap((client) =>
        problemsOf(client, subject).map((problem) => ({ ...problem, clientId: client.clientId })),
      ),
    )

const ofStrangers =
  (problemsOf: ProblemsOf): Check<StoredSubject>['run'] =>
  async (subject) =>
    ofSelfDescribed((await enabledClients(subject, true)).flatMap((client) => problemsOf(client, subject)))

const [redirectUris, scopes] = [
  { id: 'redirect-uris', title: 'no redirect URI lets others receive codes' },
  { id: 'client-scopes', title: 'clients are registered for known scopes' },
]

/** Checks of the clients that the host registered, the first thousand of them. */
export const clientChecks: readonly Check<StoredSubject>[] = [
  { ...redirectUris, run: ofEachClient(redirectUriProblems) },
  { ...scopes, run: ofEachClient(scopeProblems) },
]

/** Checks of clients that described themselves. A server does not make them when it starts: strangers can make it long. */
export const strangerChecks: readonly Check<StoredSubject>[] = [
  { ...redirectUris, run: ofStrangers(redirectUriProblems) },
  { ...scopes, run: ofStrangers(scopeProblems) },
]
