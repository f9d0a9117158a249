import type { Store, TokenRow } from './oauth2-server-store.ts'

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

const scopes = (value: string | null): string[] => String(value).split(' ')

/** A model for @node-oauth/oauth2-server: tokens as they are, in the tables of a store. */
export const createModel = (store: Store) => {
  /** @param secret null when the client need not prove itself */
  const client = async (id: string, secret: string | null = null): Promise<Client | undefined> => {
    const row = await store.client(id)
    if (row === undefined || (secret !== null && row.secret !== secret)) return undefined
    const { grants, redirect_uris } = row
    return { id, grants: JSON.parse(grants), redirectUris: JSON.parse(redirect_uris) }
  }

  return {
    findUser: async (email: string): Promise<(User & { passwordHash: string }) | undefined> => {
      const row = await store.user(email)
      return row && { id: row.id, passwordHash: row.password_hash }
    },

    getClient: client,

    validateScope: async (_user: object, _client: object, scope?: string[]) => scope ?? ['notes:read'],

    saveAuthorizationCode: async (code: Code, of: { id: string }, user: { id?: number }) => {
      await store.saveCode({
        code: code.authorizationCode,
        client_id: of.id,
        user_id: user.id ?? null,
        scope: (code.scope ?? []).join(' '),
        redirect_uri: code.redirectUri,
        challenge: code.codeChallenge ?? null,
        method: code.codeChallengeMethod ?? null,
        expires: code.expiresAt.getTime(),
      })
      return { ...code, client: of as Client, user }
    },

    getAuthorizationCode: async (authorizationCode: string) => {
      const row = await store.code(authorizationCode)
      const owner = row && (await client(row.client_id))
      return (
        owner && {
          authorizationCode,
          expiresAt: new Date(row.expires),
          redirectUri: row.redirect_uri,
          scope: scopes(row.scope),
          codeChallenge: String(row.challenge),
          codeChallengeMethod: String(row.method),
          client: owner,
          user: { id: Number(row.user_id) },
        }
      )
    },

    revokeAuthorizationCode: async ({ authorizationCode }: { authorizationCode: string }) =>
      (await store.removeCode(authorizationCode)) === 1,

    saveToken: async (token: Token, of: { id: string }, user: { id?: number }) => {
      const owner = { client_id: of.id, user_id: user.id ?? null, scope: token.scope?.join(' ') ?? null }
      const row = (value: string, expires?: Date): TokenRow => ({
        token: value,
        ...owner,
        expires: expires?.getTime() ?? null,
      })
      await store.saveTokens(
        row(token.accessToken, token.accessTokenExpiresAt),
        token.refreshToken === undefined ? undefined : row(token.refreshToken, token.refreshTokenExpiresAt),
      )
      return { ...token, client: of as Client, user }
    },

    getAccessToken: async (accessToken: string) => {
      const row = await store.accessToken(accessToken)
      return (
        row && {
          accessToken,
          accessTokenExpiresAt: new Date(Number(row.expires)),
          scope: scopes(row.scope),
          client: { id: row.client_id, grants: [] },
          user: { id: row.user_id, email: row.email, name: row.full_name },
        }
      )
    },

    verifyScope: async ({ scope = [] }: { scope?: string[] }, wanted: string[]) =>
      wanted.every((name) => scope.includes(name)),

    getRefreshToken: async (refreshToken: string) => {
      const row = await store.refreshToken(refreshToken)
      const owner = row && (await client(row.client_id))
      return (
        owner && {
          refreshToken,
          refreshTokenExpiresAt: new Date(Number(row.expires)),
          scope: scopes(row.scope),
          client: owner,
          user: { id: Number(row.user_id) },
        }
      )
    },

    revokeToken: async ({ refreshToken }: { refreshToken: string }) =>
      (await store.removeRefreshToken(refreshToken)) === 1,

    getUserFromClient: async () => ({}),
  }
}
