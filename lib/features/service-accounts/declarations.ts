import type { OrganizationPageModel } from '../../web/pages/account-page-model.ts'
import type { PageForm, PageLinks } from '../../web/pages/page-parts.ts'

/** The details of every event about a service account. */
export interface ServiceAccountFields {
  readonly organization: string
  readonly clientId: string
  /** The administrator of the organization who did it. */
  readonly subject?: string
  /** The host's own name for who did it, by `oauth.serviceAccounts`. */
  readonly actor?: string
}

/** A service account in an export. Times are epoch seconds. */
export interface ServiceAccountExport {
  readonly clientId: string
  readonly organization: string
  readonly createdAt: number
  /** At most a minute old; null if it was never used. */
  readonly lastUsedAt: number | null
}

/** The part of `oauth.users.export()` about service accounts. */
export interface ExportedServiceAccounts {
  /** Service accounts that the user made; absent without any. They belong to their organization. */
  readonly serviceAccounts?: readonly ServiceAccountExport[]
}

/** The part of `oauth.organizations.export()` about service accounts. */
export interface ExportedAccountsOfOrganization {
  /** Its service accounts, with the id of who made each; absent without any. */
  readonly serviceAccounts?: readonly (ServiceAccountExport & { readonly createdBy: string | null })[]
}

/** A permission of a service account, as on the consent page. */
export interface AccountScope {
  /** One sentence, such as “See your orders”. */
  readonly description: string
  /** Its language (BCP 47), if it differs from the page. */
  readonly language?: string
  readonly group: 'identity' | 'read' | 'change' | 'other' | 'offline'
}

/** The things of one kind that an account is for. */
export interface AccountThings {
  /** Such as “projects”. */
  readonly name: string
  readonly isAll: boolean
  /** The names of those that still exist, if not all. */
  readonly names: readonly string[]
}

/** The first field with a mistake in the form of an account. */
export type AccountFormError = 'name' | 'scopes' | 'things' | 'lost' | 'days' | 'key'

/** An act that the page of an account asks about first. */
export type AccountAct = 'replace' | 'revoke' | 'revoke-previous' | 'remove'

/** The last act on an account. */
export type AccountNotice = 'created' | 'saved' | 'replaced' | 'revoked'

declare module '../../web/pages/page-models.ts' {
  interface PageModels {
    /** The service accounts of an organization. */
    'service-accounts': OrganizationPageModel &
      PageLinks & {
        /** The newest first. */
        accounts: readonly {
          readonly name: string
          /** The page about it. */
          readonly url: string
          /** ISO 8601. */
          readonly until: string
          readonly isExpired: boolean
          /** By an operator of the host. */
          readonly isDisabled: boolean
          /** ISO 8601; absent if it was never used. */
          readonly lastUsed?: string
        }[]
        /** The form for another one; absent if there are as many as the host allows. */
        newUrl?: string
        /** Then: how many that is. */
        max?: number
        /** An account was just removed. */
        notice?: 'removed'
      }
    /** The form of a service account. */
    'service-account-form': PageForm & {
      /** As it was typed. */
      name: string
      /** The account that is changed; absent for a new one. */
      account?: { readonly name: string; readonly until: string }
      /** They post as `scope:<name>`. */
      scopes: readonly (AccountScope & {
        readonly name: string
        readonly isHighRisk: boolean
        readonly riskReason?: string
        readonly checked: boolean
      })[]
      /** The things that the scopes are about, as on the consent page. Absent without the option `choices`. */
      things?: readonly ConsentThings[] | undefined
      /** Numbers of days with their ends (ISO 8601). They post as `days`, or `keep` for the end that an account has. */
      days: readonly { readonly days: number; readonly until: string; readonly isChosen: boolean }[]
      /** How the program proves who it is; posts as `method`. Absent for an account that exists. */
      method?: 'secret' | 'key'
      /** The public key as it was typed; posts as `key`. Absent for an account with secrets. */
      key?: string
      error?: AccountFormError
      cancelUrl: string
    }
    /** One service account. */
    'service-account': OrganizationPageModel & {
      name: string
      clientId: string
      /** The issuer, from which programs find the token endpoint. */
      issuer: string
      scopes: readonly AccountScope[]
      things: readonly AccountThings[]
      /** ISO 8601. */
      since: string
      /** The username of who made it; absent for one that the host made, and if that person has left. */
      creator?: string
      /** Who made it has left the organization, or is gone. */
      isOrphaned: boolean
      until: string
      isExpired: boolean
      isDisabled: boolean
      lastUsed?: string
      /** Its valid secrets, the newest first; absent for an account with a key. */
      secrets?: readonly {
        readonly isCurrent: boolean
        readonly since?: string
        readonly lastUsed?: string
        /** When a secret that was replaced ends. */
        readonly until?: string
        /** The page that asks whether to end it now. */
        readonly revokeUrl: string
      }[]
      /** A new secret, which no later page shows. */
      secret?: string
      notice?: AccountNotice
      editUrl: string
      /** Absent for an account with a key. */
      replaceUrl?: string
      removeUrl: string
    }
    /** Asks whether to do something with a service account. */
    'service-account-confirm': PageForm & {
      act: AccountAct
      name: string
      cancelUrl: string
    }
  }
}

declare module '../../events/event.ts' {
  interface FeatureChanges {
    'service_account.created': true
    'service_account.changed': true
    'service_account.secret_replaced': true
    'service_account.secret_revoked': true
    'service_account.removed': true
  }
  interface EventDetails {
    /** An administrator of an organization, or the host, made a service account. */
    'service_account.created': ServiceAccountFields
    /** It has another name, permissions, things, end or key. */
    'service_account.changed': ServiceAccountFields
    /** It has another secret. The one before works for a while. */
    'service_account.secret_replaced': ServiceAccountFields
    /** One of its secrets was ended, and with it all its tokens. */
    'service_account.secret_revoked': ServiceAccountFields
    'service_account.removed': ServiceAccountFields
  }
}
