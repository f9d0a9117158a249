/** The paths of a server's endpoints; an endpoint without a path does not exist. */
export interface Paths {
  readonly authorize: string
  readonly token: string
  readonly userinfo: string
  readonly introspect: string
  readonly discovery?: string
  readonly jwks?: string
  readonly guarded: string
  /** A guarded route whose tokens are JWTs, and where they are issued. */
  readonly guardedByJwt?: string
  readonly jwtToken?: string
}

export type Storage = 'sqlite' | 'postgresql' | 'memory'

/** A server of the comparison. */
export interface Contestant {
  readonly name: string
  /** The file under `server/`. */
  readonly server: 'latchkey' | 'oidc-provider' | 'oauth2-server' | 'ceiling'
  readonly storage: Storage
  /** How the model of oauth2-server accesses its tables. */
  readonly model?: 'knex' | 'prepared'
  readonly paths: Paths
  /** Whether it issues ID tokens. */
  readonly openid: boolean
  /** Whether it asks for consent on a page. */
  readonly asksConsent?: boolean
}

const latchkeyPaths: Paths = {
  authorize: '/oauth/authorize',
  token: '/oauth/token',
  userinfo: '/oauth/userinfo',
  introspect: '/oauth/introspect',
  discovery: '/oauth/.well-known/openid-configuration',
  jwks: '/oauth/jwks',
  guarded: '/api/notes',
  guardedByJwt: '/jwt/notes',
  jwtToken: '/jwt/oauth/token',
}

const oidcProviderPaths: Paths = {
  authorize: '/oidc/auth',
  token: '/oidc/token',
  userinfo: '/oidc/me',
  introspect: '/oidc/token/introspection',
  discovery: '/oidc/.well-known/openid-configuration',
  jwks: '/oidc/jwks',
  guarded: '/api/notes',
}

/** For servers without paths of their own. */
const plainPaths: Paths = {
  authorize: '/authorize',
  token: '/token',
  userinfo: '/userinfo',
  introspect: '/introspect',
  guarded: '/api/notes',
}

/** The server that all others are compared with. */
export const reference = 'oidc-provider + SQLite'

export const contestants: readonly Contestant[] = [
  {
    name: 'Latchkey + SQLite',
    server: 'latchkey',
    storage: 'sqlite',
    paths: latchkeyPaths,
    openid: true,
    asksConsent: true,
  },
  {
    name: 'Latchkey + PostgreSQL',
    server: 'latchkey',
    storage: 'postgresql',
    paths: latchkeyPaths,
    openid: true,
    asksConsent: true,
  },
  {
    name: reference,
    server: 'oidc-provider',
    storage: 'sqlite',
    paths: oidcProviderPaths,
    openid: true,
    asksConsent: true,
  },
  {
    name: 'oidc-provider in memory',
    server: 'oidc-provider',
    storage: 'memory',
    paths: oidcProviderPaths,
    openid: true,
    asksConsent: true,
  },
  {
    name: 'oauth2-server + SQLite',
    server: 'oauth2-server',
    storage: 'sqlite',
    model: 'knex',
    paths: plainPaths,
    openid: false,
  },
  {
    name: 'oauth2-server, prepared',
    server: 'oauth2-server',
    storage: 'sqlite',
    model: 'prepared',
    paths: plainPaths,
    openid: false,
  },
  {
    name: 'ceiling',
    server: 'ceiling',
    storage: 'sqlite',
    paths: {
      ...plainPaths,
      discovery: '/.well-known/openid-configuration',
      jwks: '/jwks',
      guardedByJwt: '/jwt/notes',
      jwtToken: '/token',
    },
    openid: true,
  },
]
