// The part that the tests use of stock clients which bring no types, or wrong ones.

declare module 'passport' {
  import type { RequestHandler } from 'express'
  export class Passport {
    use(name: string, strategy: object): this
    authenticate(name: string, options?: { session?: boolean; prompt?: string }): RequestHandler
    session(): RequestHandler
  }
}

declare module 'passport-openidconnect' {
  interface Profile {
    id: string
    displayName?: string
    emails?: { value: string }[]
  }
  type Verified = (error: unknown, user?: object) => void
  export class Strategy {
    constructor(
      options: Readonly<Record<string, unknown>>,
      verify: (
        issuer: string,
        profile: Profile,
        context: { timestamp?: Date },
        idToken: string,
        accessToken: string,
        refreshToken: string,
        done: Verified,
      ) => void,
    )
  }
}

declare module 'passport-oauth2' {
  type Done = (error: unknown, user?: object) => void
  export class Strategy {
    constructor(
      options: Readonly<Record<string, unknown>>,
      verify: (accessToken: string, refreshToken: string, profile: object, done: Done) => void,
    )
    protected readonly _oauth2: {
      useAuthorizationHeaderforGET(use: boolean): void
      get(url: string, accessToken: string, done: (error: unknown, body: string) => void): void
    }
    userProfile(accessToken: string, done: Done): void
  }
}

declare module 'simple-oauth2' {
  interface ModuleOptions {
    client: { id: string; secret: string }
    auth: Readonly<Record<string, string>>
    options?: { authorizationMethod?: 'header' | 'body'; credentialsEncodingMode?: 'strict' | 'loose' }
  }
  interface AccessToken {
    readonly token: Readonly<Record<string, string | undefined>> & { expires_at?: Date }
    expired(withinSeconds?: number): boolean
    refresh(parameters?: { scope?: string | string[] }): Promise<AccessToken>
    revoke(tokenType: 'access_token' | 'refresh_token'): Promise<void>
    revokeAll(): Promise<void>
  }
  export class AuthorizationCode {
    constructor(options: ModuleOptions)
    authorizeURL(parameters: { redirect_uri: string; scope: string | string[]; state: string }): string
    getToken(parameters: { code: string; redirect_uri: string }): Promise<AccessToken>
  }
  export class ClientCredentials {
    constructor(options: ModuleOptions)
    getToken(parameters: { scope: string }): Promise<AccessToken>
  }
}

// Its own types say `export default` of what is `module.exports`.
declare module 'grant' {
  import type { RequestHandler } from 'express'

  const grant: { express(config: Readonly<Record<string, object>>): RequestHandler }
  export default grant
}
