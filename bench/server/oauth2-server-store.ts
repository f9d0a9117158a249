/** The rows of the model's tables. */
export interface ClientRow {
  readonly id: string
  readonly secret: string
  /** JSON. */
  readonly grants: string
  /** JSON. */
  readonly redirect_uris: string
}

export interface UserRow {
  readonly id: number
  readonly password_hash: string
}

export interface CodeRow {
  readonly code: string
  readonly client_id: string
  readonly user_id: number | null
  readonly scope: string
  readonly redirect_uri: string
  readonly challenge: string | null
  readonly method: string | null
  /** Epoch milliseconds. */
  readonly expires: number
}

export interface TokenRow {
  readonly token: string
  readonly client_id: string
  readonly user_id: number | null
  readonly scope: string | null
  /** Epoch milliseconds. */
  readonly expires: number | null
}

/** A token with its user; null columns if the user no longer exists. */
export interface FoundToken extends TokenRow {
  readonly email: string | null
  readonly full_name: string | null
}

type Maybe<T> = T | undefined | Promise<T | undefined>
type Count = number | Promise<number>

/** The tables under a model for @node-oauth/oauth2-server, through Knex or by prepared statements. */
export interface Store {
  client(id: string): Maybe<ClientRow>
  user(email: string): Maybe<UserRow>
  saveCode(row: CodeRow): unknown
  code(code: string): Maybe<CodeRow>
  /** @returns the number of removed rows */
  removeCode(code: string): Count
  /** In one transaction. */
  saveTokens(access: TokenRow, refresh: TokenRow | undefined): unknown
  accessToken(token: string): Maybe<FoundToken>
  refreshToken(token: string): Maybe<TokenRow>
  /** @returns the number of removed rows */
  removeRefreshToken(token: string): Count
}
