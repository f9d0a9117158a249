import type { Choices } from '../../protocol/choices.ts'
import type { Organization } from '../../protocol/requests/organization.ts'
import type { AccountPageModel } from '../../web/pages/account-page-model.ts'
import type { CountedThings } from '../../web/pages/page-models.ts'
import type { PageForm } from '../../web/pages/page-parts.ts'
import type { PersonalTokenExport } from './table.ts'

/** A permission, as on the consent page. */
export interface TokenScope {
  /** One sentence, such as “See your orders”. */
  description: string
  /** Its language (BCP 47), if it differs from the page. */
  language?: string
  group: 'identity' | 'read' | 'change' | 'other' | 'offline'
}

/** A personal access token in the list. */
export interface PersonalTokenCard {
  /** As its user called it. */
  name: string
  scopes: readonly TokenScope[]
  /** The name of the organization that it is for. */
  organization?: string
  /** The things that it is for, by kind. Absent without the option `choices`. */
  things?: readonly CountedThings[]
  /** ISO 8601. */
  since: string
  /** ISO 8601, at most an hour old; absent if it was never used. */
  lastUsed?: string
  /** ISO 8601. */
  expires: string
  isExpired: boolean
  /** The page that asks whether to revoke it. */
  removeUrl: string
}

/** The first field with a mistake in the form of a new token. */
export type PersonalTokenFormError =
  | 'name'
  | 'organization'
  | 'scopes'
  | 'days'
  | 'access'
  /** Nothing of a kind is chosen, some of it is not the user's to give any more, or it is of another organization. */
  | 'things'
  | 'lost'
  | 'moved'

/** The part of `oauth.users.export()` about the user's personal access tokens. */
export interface ExportedPersonalTokens {
  /** Personal access tokens that are not revoked; absent without any. */
  readonly personalTokens?: readonly PersonalTokenExport[]
}

declare module '../../options/access.ts' {
  interface AccessSteps {
    /** A user makes a personal access token, which is for no client: the `client_id` is `personal:new`. */
    readonly personal_token: true
  }
}

declare module '../../web/pages/page-models.ts' {
  interface PageModels {
    /** The user's tokens. */
    'personal-tokens': AccountPageModel & {
      /** The newest first. */
      tokens: readonly PersonalTokenCard[]
      /** The token that was just created. It is shown once. */
      created?: { readonly name: string; readonly value: string }
      /** A token was just revoked. */
      notice?: 'revoked'
      /** The form for another token; absent if the user cannot create one. */
      newUrl?: string
      /** Set if the user has as many tokens as the host allows: how many that is. */
      max?: number
    }
    /** The form of a new token. */
    'personal-token-form': PageForm & {
      /** As it was typed. */
      name: string
      /** The usual numbers of days that the host allows, each with its end (ISO 8601). They post as `days`. */
      choices: readonly { readonly days: number; readonly until: string; readonly isChosen: boolean }[]
      /** A date to choose, which posts as `until` if `days` is `other`. Dates are YYYY-MM-DD, in UTC. */
      other: {
        readonly isChosen: boolean
        /** As it was typed. */
        readonly date: string
        readonly earliest: string
        readonly latest: string
      }
      /** Absent unless the user belongs to several. The id posts as `organization`. */
      organizations?: readonly (Organization & { readonly isChosen: boolean })[]
      /** Scopes that a token can have; posts as `scope:<name>`. */
      scopes: readonly (TokenScope & {
        name: string
        isHighRisk?: boolean
        /** Why it is sensitive. */
        riskReason?: string
        checked: boolean
      })[]
      /** The things that the scopes are about, as on the consent page. Absent without the option `choices`. */
      things?: readonly ConsentThings[]
      error?: PersonalTokenFormError
      /** With `access`: what the host says, as text. */
      reason?: string
      cancelUrl: string
    }
    /** Asks whether to revoke a token. */
    'revoke-token': PageForm & {
      name: string
      cancelUrl: string
    }
  }
}

declare module '../../events/event.ts' {
  interface FeatureChanges {
    'token.personal.revoked': true
  }
  interface EventDetails {
    /** A user made a personal access token. */
    'token.personal.created': {
      readonly subject: string
      /** Names the token; it is not a secret. */
      readonly tokenId: string
      readonly name: string
      readonly scopes: readonly string[]
      /** The things that it is for, by kind. */
      readonly choices?: Choices
      /** Epoch seconds. */
      readonly expiresAt: number
    }
    /** A personal access token was revoked. */
    'token.personal.revoked': {
      readonly subject: string
      readonly tokenId: string
      readonly actor?: string
    }
  }
}
