import { type Check, error, type Found, note, type StoredSubject, warning } from '../check.ts'
import { knownScopes, unknownScope } from '../options/scopes.ts'
import { type Client, isPublic } from '../protocol/clients/client.ts'
import { redirectUriKind } from '../protocol/clients/redirect-uri.ts'
import { listClients } from '../repositories/clients.ts'

/** Domains of tunnels, and names that resolve to any address. Anyone could own such a host tomorrow. */
const borrowed =
  /\.(?:ngrok\.io|ngrok\.app|ngrok\.dev|ngrok-free\.(?:app|dev)|trycloudflare\.com|loca\.lt|localhost\.run|serveo\.net|nip\.io|sslip\.io|xip\.io|lvh\.me)$/

const change = (clientId: string, uri: string): string =>
  `run: npx latchkey client update ${clientId} --redirect-uri ${uri}`

const redirectUriFindings = (client: Client, { options }: StoredSubject): Found =>
  client.metadata.redirect_uris.flatMap((uri): Found => {
    const what = `redirect URI ${uri} of client ${client.clientId}`
    const kind = redirectUriKind(uri)
    const safe = change(client.clientId, 'https://…')
    if (uri.includes('*')) return error(`${what} has a wildcard, which matches no request`, safe)
    if (kind === 'http') return error(`${what} sends codes over http, where others can read them`, safe)
    if (kind === 'private-use') {
      return (
        !isPublic(client) &&
        warning(
          `${what} is an app on a device, where no client secret stays secret`,
          `register the app as a public client: npx latchkey client create --public --redirect-uri ${uri}`,
        )
      )
    }
    if (borrowed.test(new URL(uri).hostname)) {
      return warning(`${what} is on a host that others may have tomorrow`, safe)
    }
    return (
      kind === 'loopback' &&
      options.production &&
      !isPublic(client) &&
      note(`${what} is on the machine of the user, although the client has a secret`, safe)
    )
  })

const scopeFindings = ({ clientId, metadata }: Client, { options }: StoredSubject): Found => {
  const unknown = unknownScope((metadata.scope ?? '').split(' ').filter(Boolean), knownScopes(options))
  return (
    unknown !== undefined &&
    warning(
      `client ${clientId} is registered for a scope that no token can have: ${unknown}`,
      `run: npx latchkey client update ${clientId} --scope '…', or add the scope to the option scopes`,
    )
  )
}

/** Makes a check of each client. */
const ofEachClient =
  (findingsOf: (client: Client, subject: StoredSubject) => Found): Check<StoredSubject>['run'] =>
  async (subject) => {
    const clients = await listClients(subject.database, { limit: 1000, now: subject.now() })
    return clients
      .filter(({ disabledAt }) => disabledAt === null)
      .flatMap((client) => findingsOf(client, subject))
  }

/** Checks of the registered clients, the first thousand of them. */
export const clientChecks: readonly Check<StoredSubject>[] = [
  {
    id: 'redirect-uris',
    title: 'no redirect URI lets others receive codes',
    run: ofEachClient(redirectUriFindings),
  },
  { id: 'client-scopes', title: 'clients are registered for known scopes', run: ofEachClient(scopeFindings) },
]
