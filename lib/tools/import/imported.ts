import type { Source, SourceRow } from './source.ts'

/** The meaning of 64 hexadecimal digits in a column: a secret or token itself, or its SHA-256. */
export type HexMeaning = 'plain' | 'sha256'

/** A client of another server, as that server describes it. */
export interface ImportedClient {
  readonly clientId: string
  /** With the names of RFC 7591. An absent scope stands for every scope of the server. */
  readonly metadata: SourceRow
  /** As it is stored: the secret itself or a hash of it. Empty if there is none. */
  readonly secret: string
  /** Whether the column always has the secret itself, whatever it looks like. */
  readonly isPlain?: boolean
  /** Abilities that the client loses without being refused. */
  readonly notes?: readonly string[]
  /** Why it cannot be imported. */
  readonly refusal?: string
  /** Why it is not worth importing, such as that it is revoked. */
  readonly ignored?: string
}

/** A refresh token of another server. */
export interface ImportedToken {
  readonly clientId: string
  readonly subject: string
  readonly scopes: readonly string[]
  /** The token itself, or its SHA-256 in hexadecimal digits. */
  readonly stored: string
  /** Whether the column has a hash; absent: what {@link HexMeaning} says. */
  readonly isHash?: boolean
  /** The form in which that server stores them, unless the operator says otherwise. */
  readonly hex?: HexMeaning
  /** Epoch seconds; absent if the other server does not keep it. */
  readonly createdAt?: number | undefined
  /** Epoch seconds; absent: it has no expiry of its own. */
  readonly expiresAt?: number | undefined
  /** Epoch seconds of the login; absent if the other server does not keep it. */
  readonly authTime?: number | undefined
  /** Why it cannot be imported. */
  readonly refusal?: string
}

/** Facts about the other server, from the operator. */
export interface PeerSettings {
  /** The table of models, if it has an unusual name. */
  readonly table?: string | undefined
  /** Scopes of what has no scope of its own. */
  readonly scopes?: readonly string[] | undefined
}

/** Another authorization server, from whose tables clients are imported. */
export interface Peer {
  readonly name: string
  /** @throws Error that names the table or the column that is missing */
  clients(source: Source, settings: PeerSettings): Promise<ImportedClient[]>
  /** Tokens that are neither used nor revoked. Absent if its tables do not contain them. */
  refreshTokens?(source: Source, settings: PeerSettings): AsyncIterable<readonly ImportedToken[]>
  /** Why there is no `refreshTokens`. */
  readonly keepsTokens?: string
}
