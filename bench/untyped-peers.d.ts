// Types for packages without types, as far as the benchmark uses them.

declare module 'oidc-provider' {
  import type { IncomingMessage, ServerResponse } from 'node:http'

  interface Interaction {
    readonly uid: string
    readonly prompt: { readonly name: 'login' | 'consent' }
    readonly params: { readonly client_id: string; readonly scope: string }
    readonly session?: { readonly accountId: string }
  }
  interface Grant {
    addOIDCScope(scope: string): void
    save(): Promise<string>
  }
  interface AccessToken {
    readonly accountId?: string
    readonly clientId: string
    readonly scopes: ReadonlySet<string>
    readonly isValid: boolean
  }
  export class Provider {
    constructor(issuer: string, configuration: Readonly<Record<string, unknown>>)
    readonly Grant: new (of: {
      accountId: string
      clientId: string
    }) => Grant
    readonly AccessToken: { find(value: string): Promise<AccessToken | undefined> }
    callback(): (req: IncomingMessage, res: ServerResponse) => void
    interactionDetails(req: IncomingMessage, res: ServerResponse): Promise<Interaction>
    interactionFinished(req: IncomingMessage, res: ServerResponse, result: object): Promise<void>
  }
}

declare module 'better-sqlite3' {
  export type Value = string | number | null
  export interface Statement {
    readonly source: string
    get(...values: Value[]): Record<string, unknown> | undefined
    all(...values: Value[]): Record<string, unknown>[]
    run(...values: Value[]): { changes: number }
  }
  export default class Database {
    constructor(filename: string)
    prepare(sql: string): Statement
    pragma(text: string): unknown
    exec(sql: string): void
    close(): void
    transaction<Values extends unknown[], Result>(
      work: (...values: Values) => Result,
    ): ((...values: Values) => Result) & { immediate(...values: Values): Result }
  }
}
