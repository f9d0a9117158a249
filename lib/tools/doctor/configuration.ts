import { nearest } from '../../options/check.ts'
import type { Options } from '../../options/options.ts'
import { nameless } from '../../options/pages.ts'
import { isUserMapping } from '../../options/users.ts'
import { claimsByScope } from '../../protocol/claims.ts'
import { isLoopbackHost } from '../../protocol/clients/redirect-uri.ts'
import { isUnpredictable } from '../../protocol/entropy.ts'
import { sqliteProblem } from '../../storage/database/sqlite-version.ts'
import { type Check, error, type Found, note, type Subject, warning } from '../check.ts'

/** The parts of the version of Node, such as 20 and 19. */
const numbersOf = (version: string): [major: number, minor: number] => {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return [major, minor]
}

const nodeFindings = ({ versions: { node } }: Subject): Found => {
  const [major, minor] = numbersOf(node)
  if (major < 20 || (major === 20 && minor < 19)) {
    return error(`Node ${node} is too old`, 'install Node 24; Latchkey needs 20.19 or newer')
  }
  return major % 2 === 1 && warning(`Node ${node} gets no long-term support`, 'install Node 22, 24 or 26')
}

const usesSqlite = ({ database: { knex } }: Options): boolean =>
  typeof knex === 'function'
    ? knex.client?.config?.client === 'better-sqlite3'
    : knex.client === 'better-sqlite3'

const driverFindings = ({ options, versions: { node, sqlite } }: Subject): Found => {
  const found = sqlite !== undefined && usesSqlite(options) ? sqliteProblem(sqlite, node) : undefined
  return found && error(found.problem, found.fix)
}

const secretFindings = ({ options: { production, secrets } }: Subject): Found => {
  const place = secrets.findIndex((secret) => !isUnpredictable(secret))
  return (
    production &&
    place !== -1 &&
    error(
      `secrets[${place}] is easy to guess, and it encrypts the signing keys and signs the cookies`,
      'generate one with: openssl rand -base64 32, and replace the old one in the three steps of docs/operation.md#replacing-the-secret',
    )
  )
}

/** Claims that users have, and that no scope reveals. The names of those of functions are not known. */
const claimFindings = ({ options: { users, scopes } }: Subject): Found => {
  if (users === undefined || !isUserMapping(users)) return undefined
  const revealed = [...new Set(Object.values(claimsByScope(scopes)).flat())]
  return Object.keys(users.claims ?? {})
    .filter((name) => !revealed.includes(name))
    .map((name) => {
      const near = nearest(name, revealed)
      const scope = `scopes: { NAME: { description: '…', claims: ['${name}'] } }`
      return warning(
        `no scope reveals the claim ${name} of users.claims, so no client gets it`,
        near === undefined
          ? `add it to one: ${scope}`
          : `rename it to ${near}, or add it to a scope: ${scope}`,
      )
    })
}

/** Checks of the options and of the machine, which need neither database nor server. */
export const configurationChecks: readonly Check<Subject>[] = [
  {
    id: 'issuer',
    title: 'the issuer is a public https URL',
    run: ({ options: { issuer, production } }) =>
      production &&
      isLoopbackHost(new URL(issuer).hostname) &&
      error(
        `the issuer is ${issuer}, which only this machine can open`,
        "set issuer: 'https://app.example.com/oauth', the public URL of the mount",
      ),
  },
  {
    id: 'name',
    title: 'the pages show the name of the product',
    run: ({ options: { pages, production } }) =>
      pages.name === nameless &&
      (production ? warning : note)(
        `the pages call the product ${nameless}`,
        "set pages: { name: 'Acme' }, the name that your users know",
      ),
  },
  { id: 'guessable-secrets', title: 'the secrets are hard to guess', run: secretFindings },
  { id: 'revealed-claims', title: 'every claim of a user is revealed by a scope', run: claimFindings },
  { id: 'node', title: 'this version of Node is supported', run: nodeFindings },
  { id: 'driver', title: 'the database driver runs on this version of Node', run: driverFindings },
]
