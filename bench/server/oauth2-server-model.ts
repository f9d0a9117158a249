import type Database from 'better-sqlite3'
import { statementsOn } from './oauth2-server-statements.ts'

export interface User {
  readonly id: number
}

interface Client {
  readonly id: string
  readonly grants: string[]
  readonly redirectUris: string[]
}

interface Code {
  readonly authorizationCode: string
  readonly expiresAt: Date
  readonly redirectUri: string
  readonly scope?: string[]
  readonly codeChallenge?: string
  readonly codeChallengeMethod?: string
}

interface Token {
  readonly accessToken: string
  readonly accessTokenExpiresAt?: Date
  readonly refreshToken?: string
  readonly refreshTokenExpiresAt?: Date
  readonly scope?: string[]
}

const date = (value: unknown): Date => new Date(Number(value))
const scopes = (value: unknown): string[] => String(value).split(' ')

/** A model for @node-oauth/oauth2-server on better-sqlite3: prepared statements, tokens as they are. */
export const createModel = (database: Database) => {
  const statements = statementsOn(database)
  const insertTokens = database.transaction((token: Token, client: Client, user: User) => {
    const owner = [client.id, user.id ?? null, token.scope?.join(' ') ?? null]
    statements.insertAccess.run(token.accessToken, ...owner, token.accessTokenExpiresAt?.getTime() ?? null)
    if (token.refreshToken !== undefined) {
      statements.insertRefresh.run(
        token.refreshToken,
        ...owner,
        token.refreshTokenExpiresAt?.getTime() ?? null,
      )
    }
  })

  /** @param secret null when the client need not prove itself */
  const client = (id: string, secret: string | null = null): Client | undefined => {
    const row = statements.clientById.get(id)
    if (row === undefined || (secret !== null && row.secret !== secret)) return undefined
    const { grants, redirect_uris } = row
    return { id, grants: JSON.parse(String(grants)), redirectUris: JSON.parse(String(redirect_uris)) }
  }

  return {
    findUser: (email: string): (User & { passwordHash: string }) | undefined => {
      const row = statements.userByEmail.get(email)
      return row && { id: Number(row.id), passwordHash: String(row.password_hash) }
    },

    getClient: async (id: string, secret: string | null) => client(id, secret),

    validateScope: async (_user: object, _client: object, scope?: string[]) => scope ?? ['notes:read'],

    saveAuthorizationCode: async (code: Code, of: { id: string }, user: { id?: number }) => {
      const { authorizationCode, scope = [], redirectUri, expiresAt } = code
      statements.saveCode.run(
        authorizationCode,
        of.id,
        user.id ?? null,
        scope.join(' '),
        redirectUri,
        code.codeChallenge ?? null,
        code.codeChallengeMethod ?? null,
        expiresAt.getTime(),
      )
      return { ...code, client: of as Client, user }
    },

    getAuthorizationCode: async (authorizationCode: string) => {
      const row = statements.findCode.get(authorizationCode)
      const owner = row && client(String(row.client_id))
      return (
        owner && {
          authorizationCode,
          expiresAt: date(row.expires),
          redirectUri: String(row.redirect_uri),
          scope: scopes(row.scope),
          codeChallenge: String(row.challenge),
          codeChallengeMethod: String(row.method),
          client: owner,
          user: { id: Number(row.user_id) },
        }
      )
    },

    revokeAuthorizationCode: async ({ authorizationCode }: { authorizationCode: string }) =>
      statements.removeCode.run(authorizationCode).changes === 1,

    saveToken: async (token: Token, of: { id: string }, user: object) => {
      insertTokens.immediate(token, of as Client, user as User)
      return { ...token, client: of as Client, user }
    },

    getAccessToken: async (accessToken: string) => {
      const row = statements.findAccess.get(accessToken)
      return (
        row && {
          accessToken,
          accessTokenExpiresAt: date(row.expires),
          scope: scopes(row.scope),
          client: { id: String(row.client_id), grants: [] },
          user: { id: row.user_id, email: row.email, name: row.full_name },
        }
      )
    },

    verifyScope: async ({ scope = [] }: { scope?: string[] }, wanted: string[]) =>
      wanted.every((name) => scope.includes(name)),

    getRefreshToken: async (refreshToken: string) => {
      const row = statements.findRefresh.get(refreshToken)
      const owner = row && client(String(row.client_id))
      return (
        owner && {
          refreshToken,
          refreshTokenExpiresAt: date(row.expires),
          scope: scopes(row.scope),
          client: owner,
          user: { id: Number(row.user_id) },
        }
      )
    },

    revokeToken: async ({ refreshToken }: { refreshToken: string }) =>
      statements.removeRefresh.run(refreshToken).changes === 1,

    getUserFromClient: async () => ({}),
  }
}
