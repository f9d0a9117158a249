import { randomUUID } from 'node:crypto'
import type { ServerSetup } from '../../oauth/authorization-server.ts'
import { refuseUnknownClient } from '../../oauth/clients/register.ts'
import { askedKinds, type Choices } from '../../protocol/choices.ts'
import { allowedScopes, clientName, usesSecret } from '../../protocol/clients/client.ts'
import type { PublicJwk } from '../../protocol/clients/jwks.ts'
import { refusal } from '../../protocol/refusal.ts'
import { findClientRecord } from '../../storage/repositories/clients.ts'
import {
  type AccountContext,
  changeAccount,
  createAccount,
  removeAccount,
  replaceSecret,
  revokeSecret,
  type WhichSecret,
} from './accounts.ts'
import type { ServiceAccountOption } from './option.ts'
import { type AccountFields, parsePastedKey } from './rules.ts'
import { type AccountRow, findAccountRow, listAccountRows, listAccountSecrets } from './table.ts'

/** A service account. Times are epoch seconds. */
export interface ServiceAccount {
  /** Its `client_id`. */
  readonly clientId: string
  readonly organization: string
  readonly name: string
  readonly scopes: readonly string[]
  /** The things that it is for, by kind; empty without the option `choices`. */
  readonly choices: Choices
  /** Whether it has a public key instead of secrets. */
  readonly hasKey: boolean
  /** Its valid secrets, the current one first. */
  readonly secrets: readonly {
    readonly isCurrent: boolean
    readonly createdAt: number | null
    /** At most a minute old; null if it was never used. */
    readonly lastUsedAt: number | null
    /** When a secret that was replaced ends. */
    readonly until: number | null
  }[]
  /** The id of the user who made it; null if the host did, or if that user was erased. */
  readonly createdBy: string | null
  readonly createdAt: number
  readonly lastUsedAt: number | null
  /** When all its access ends. */
  readonly until: number
  /** Whether an operator has disabled it. */
  readonly disabled: boolean
}

/** A new service account. */
export interface NewServiceAccount {
  /** At most 60 visible characters. */
  readonly name: string
  /** Among those of `serviceAccounts({ scopes })`. */
  readonly scopes: readonly string[]
  /** The things that it is for, by kind. */
  readonly choices?: Choices
  /** Seconds until it expires. @default the longest that the host allows */
  readonly expiresIn?: number
  /** Its public key, for `private_key_jwt`. @default it gets a secret */
  readonly key?: PublicJwk
  /** The id of the user who makes it. */
  readonly createdBy?: string
  /** Your name for who does it, for events. */
  readonly actor?: string
}

/** A service account that was made. */
export interface CreatedServiceAccount extends ServiceAccount {
  /** Absent with a key. Store it now: only its hash is kept. */
  readonly secret?: string
}

/** Manages the service accounts of organizations. Each function needs the id of the organization that owns the account. */
export interface ServiceAccountAdministration {
  /** Lists the service accounts of an organization, the newest first. */
  list(organization: string): Promise<readonly ServiceAccount[]>
  /**
   * Makes a service account.
   *
   * @throws OAuthError `invalid_client_metadata` for fields that the host's options do not allow, and if the organization has as
   *   many accounts as they allow
   * @example
   * const { clientId, secret } = await oauth.serviceAccounts.create('acme', { name: 'Export', scopes: ['tasks:read'] })
   */
  create(organization: string, account: NewServiceAccount): Promise<CreatedServiceAccount>
  /**
   * Changes what is named. What the account loses, its tokens lose at their next use; another key ends them.
   *
   * @throws OAuthError `invalid_client` for an account that the organization does not have, `invalid_client_metadata`
   */
  update(
    organization: string,
    clientId: string,
    changes: Partial<Omit<NewServiceAccount, 'createdBy'>>,
  ): Promise<ServiceAccount>
  /**
   * Gives the account another secret. The current one stays valid for a while.
   *
   * @param options.keepFor seconds for which it does; 86400 (a day) by default
   * @throws OAuthError `invalid_client` as {@link update}, `invalid_client_metadata` for an account with a key
   */
  replaceSecret(
    organization: string,
    clientId: string,
    options?: { readonly keepFor?: number; readonly actor?: string },
  ): Promise<{ readonly clientId: string; readonly secret: string }>
  /**
   * Ends a secret at once, together with all tokens of the account.
   *
   * @param which the current one, or the one that it has replaced
   * @returns whether there was such a secret
   * @throws OAuthError `invalid_client` as {@link update}
   */
  revokeSecret(
    organization: string,
    clientId: string,
    which: WhichSecret,
    options?: { readonly actor?: string },
  ): Promise<boolean>
  /**
   * Removes the account with its tokens.
   *
   * @throws OAuthError `invalid_client` as {@link update}
   */
  remove(organization: string, clientId: string, options?: { readonly actor?: string }): Promise<void>
}

/** @throws TypeError unless it is a whole number of seconds, at least 0 */
const seconds = (value: number, name: string): number => {
  if (Number.isSafeInteger(value) && value >= 0) return value
  throw new TypeError(`latchkey: ${name} must be a whole number of seconds, at least 0`)
}

/** @throws OAuthError `invalid_client_metadata` */
const checkedKey = (key: PublicJwk | undefined) => {
  if (key === undefined) return undefined
  const jwks = parsePastedKey(JSON.stringify(key))
  if (jwks !== undefined) return jwks
  throw refusal('metadata_invalid', { values: { parameter: 'key', problem: 'must be one public key' } })
}

/** Only an administrator's login can end meanwhile, and the host has none. */
const done = <Outcome>(outcome: Outcome): Exclude<Outcome, 'signed-out'> =>
  outcome as Exclude<Outcome, 'signed-out'>

export const serviceAccountAdministration = (
  server: ServerSetup,
  option: ServiceAccountOption,
): ServiceAccountAdministration => {
  const { database, now } = server
  const context: AccountContext = { ...server, option }

  const described = async (row: AccountRow): Promise<ServiceAccount | undefined> => {
    const { clientId } = row
    const client = await findClientRecord(database, { clientId, now: now() })
    const owner = client?.metadata.owned_by
    if (client === undefined || owner === undefined) return undefined
    const secrets = await listAccountSecrets(database, { clientId, now: now() })
    return {
      ...row,
      createdBy: row.createdBy || null,
      name: clientName(client),
      scopes: allowedScopes(client),
      choices: owner.choices ?? {},
      hasKey: !usesSecret(client.metadata),
      secrets: secrets.map(({ hash: _, ...secret }) => secret),
      until: owner.until,
      disabled: client.disabledAt !== null,
    }
  }
  const find = async (organization: string, clientId: string): Promise<ServiceAccount> => {
    const row = await findAccountRow(database, { organization, clientId })
    return (row && (await described(row))) ?? refuseUnknownClient(clientId)
  }
  /** All of them, unless the account says which. */
  const defaultChoices = (scopes: readonly string[]): Choices =>
    Object.fromEntries(
      askedKinds(server.options.choices, scopes).flatMap(({ kind, all }) =>
        all ? [[kind, 'all'] as const] : [],
      ),
    )

  return {
    list: async (organization) => {
      await server.ready()
      const accounts: ServiceAccount[] = []
      for (const row of await listAccountRows(database, { organization })) {
        const account = await described(row)
        // It may just have been removed.
        if (account) accounts.push(account)
      }
      return accounts
    },
    create: async (organization, { name, scopes, choices, expiresIn, key, createdBy, actor }) => {
      await server.ready()
      const account = {
        organization,
        clientId: randomUUID(),
        name,
        scopes,
        choices: choices ?? defaultChoices(scopes),
        until: now() + seconds(expiresIn ?? option.maxLifetime, 'expiresIn'),
        jwks: checkedKey(key),
      }
      const made = done(await createAccount(context, account, { subject: createdBy, actor }))
      if (typeof made === 'string') {
        const problem = `must not have more than ${option.maxPerOrganization} service accounts`
        throw refusal('metadata_invalid', { values: { parameter: 'organization', problem } })
      }
      const { secret } = made
      return { ...(await find(organization, made.clientId)), ...(secret !== undefined && { secret }) }
    },
    update: async (organization, clientId, { actor, key, expiresIn, ...changes }) => {
      await server.ready()
      const jwks = checkedKey(key)
      const change: Partial<AccountFields> = {
        ...changes,
        ...(expiresIn !== undefined && { until: now() + seconds(expiresIn, 'expiresIn') }),
      }
      await changeAccount(context, { organization, clientId }, { ...change, jwks }, { actor })
      return find(organization, clientId)
    },
    replaceSecret: async (organization, clientId, { keepFor, actor } = {}) => {
      await server.ready()
      const keeping = keepFor === undefined ? {} : { keepFor: seconds(keepFor, 'keepFor') }
      const made = await replaceSecret(context, { organization, clientId }, { actor }, keeping)
      // Without a mark there is no other outcome.
      const { secret } = made as { readonly secret: string }
      return { clientId, secret }
    },
    revokeSecret: async (organization, clientId, which, { actor } = {}) => {
      await server.ready()
      return (await revokeSecret(context, { organization, clientId }, which, { actor })) === 'revoked'
    },
    remove: async (organization, clientId, { actor } = {}) => {
      await server.ready()
      await removeAccount(context, { organization, clientId }, { actor })
    },
  }
}
