import type { Organization, OrganizationLack } from '../../protocol/requests/organization.ts'
import type { AccountPageModel } from './account-page-model.ts'
import type { DevicePageModels } from './device-models.ts'
import type { PageForm, PageLinks } from './page-parts.ts'

/** A client on the pages. */
export interface ClientCard {
  name: string
  /** Its logo on our own origin. @default its initials */
  logoUrl?: string
  /** Host of its redirect URI; empty for an app on the user's device (a private-use scheme). */
  host: string
  /** The client registered itself, so its name is not verified. */
  unverified: boolean
  /** The answer goes to an app on the user's device, where any app could pose as this one. */
  onDevice?: boolean
  /** Host of the metadata document by which an unverified client describes itself. */
  source?: string
  /** Shown only when https (RFC 7591 §2). */
  policyUri?: string
  /** Shown only when https (RFC 7591 §2). */
  tosUri?: string
}

/** One permission that the client asks for. */
export interface ConsentScope {
  /** The scope value (RFC 6749 §3.3); an optional one posts as `scope:<name>`. */
  name: string
  /** One sentence, such as “See your orders”. */
  description: string
  /** More information, collapsed. */
  details?: string
  /** Why it is sensitive. */
  riskReason?: string
  /** Language of these texts (BCP 47), if it differs from the page. */
  language?: string
  group: 'identity' | 'read' | 'change' | 'other' | 'offline'
  /** The names of the resources at which the scope is asked for (RFC 8707); absent for a request without resources. */
  resources?: readonly string[]
  /** The data of this user that the scope reveals: values in display order, such as a name and an address. */
  data?: readonly string[]
  /** Examples of the user's own, such as titles, and how many others there are. */
  preview?: { readonly items: readonly string[]; readonly more: number }
  /** The user may untick it. */
  optional: boolean
  /** The user has not allowed it to this client before. */
  isNew: boolean
  /** Marked as sensitive. */
  isHighRisk?: boolean
  /** Whether the box of an optional scope is ticked initially. */
  checked: boolean
  /** With presets: "Read only" does not include it. */
  isLeftOut?: boolean
}

/** An answer to all permissions at once: everything, only what reads, or what is ticked. */
export type ConsentPreset = 'all' | 'read' | 'choose'

/** One authorization detail that the client asks for (RFC 9396), such as a payment. */
export interface ConsentDetail {
  /** The object as the client sent it. */
  detail: { readonly type: string; readonly [member: string]: unknown }
  /** The heading. */
  description: string
  /** The heading names this one object, such as “Pay €12.50”: it heads the page if the page shows no other object. */
  isNamed?: boolean
  /** Language of the heading (BCP 47), if it differs from the page. */
  language?: string
  fields: readonly { readonly label: string; readonly value: string }[]
  /** The label of the button that allows it, if the page shows no other object; "Allow" if undefined. */
  button?: string
  /** The host's template, which replaces the fields. */
  partial?: string
}

/** One thing to choose. */
export interface ThingRow {
  readonly id: string
  readonly name: string
  readonly detail?: string
  /** A heading that it shares with others. */
  readonly group?: string
  readonly checked: boolean
}

/** The things of one kind that the user chooses on the consent page: all, or some. */
export interface ConsentThings {
  readonly kind: string
  /** The host's word for several of them, such as “projects”. */
  readonly name: string
  /** The selected button; posts as `choice:<kind>`. Absent if none is. */
  readonly mode?: 'all' | 'these'
  /** Whether the user may choose all, also those that come later. */
  readonly mayAll: boolean
  /** How many there are, if the host says it. */
  readonly total?: number
  /** If there are few: each posts as `thing:<kind>:<id>`. Else the decision `things:<kind>` leads to the page where they are chosen. */
  readonly items?: readonly ThingRow[]
  /** If there are many: the names of the first that are chosen, and how many others are. */
  readonly chosen?: { readonly names: readonly string[]; readonly more: number }
}

/** The organization that a consent is for. It is among the hidden fields. */
export interface ConsentOrganization extends Organization {
  /** The user has others: the decision `organization` leads to the page where they choose. */
  hasOthers: boolean
  /** Consent exists, so the user only continues: the form posts the decision `choose`. */
  only?: boolean
}

/**
 * Why the user is asked once more: another user has signed in, the page says something else now, the user has left the
 * organization or chosen another one, chose nothing of a kind, or has lost some of what they chose.
 */
export type ConsentNotice = 'account' | 'changed' | 'gone' | 'moved' | 'things' | 'lost'

/** How many things of a kind something is for. */
export interface CountedThings {
  /** The host's word for several of them. */
  readonly name: string
  readonly count: 'all' | number
}

/** A client in the list of connected apps. */
export interface ConnectedClientCard {
  name: string
  /** As in {@link ClientCard}. */
  logoUrl?: string
  /** Host of its redirect URI; empty if unknown, or for an app on the user's device. */
  host: string
  /** The name of the organization that it can use. */
  organization?: string
  /** Its permissions, as on the consent page. */
  scopes: readonly Pick<ConsentScope, 'description' | 'language' | 'group' | 'resources'>[]
  /** ISO 8601. */
  since: string
  /** ISO 8601. */
  lastUsed: string
  /** The number of sign-ins whose tokens are still valid. */
  sessions: number
  /** The things that it may use, by kind. Absent without the option `choices`. */
  things?: readonly CountedThings[]
  /** ISO 8601: when its access ends at the latest. Absent without the option `choices`. */
  ends?: string
  /** The page where the user takes something away. Absent without the option `choices`. */
  changeUrl?: string
  /** The page that asks whether to remove it. */
  removeUrl: string
}

/**
 * The model of each page. A page shows only its model, and the host's name and look.
 *
 * @hidden The reference of templates is docs/pages.md.
 */
export interface PageModels extends DevicePageModels {
  login: PageForm & {
    /** The client that waits for the login; absent if none does. */
    client?: ClientCard
    /** The name that was typed before, or `login_hint`; with `confirm` the account that must sign in again. */
    username: string
    /** The account is fixed; only the password is asked for (`prompt=login`, `max_age`). */
    confirm: boolean
    /** Why the last attempt did not succeed. `unavailable`: the user could not be signed in. */
    error?: 'credentials' | 'method' | 'throttled' | 'unavailable'
    /** With `method`: the name of the way to sign in that failed. */
    failedMethod?: string
    /** With `credentials`: one more failure pauses the sign-in. */
    isLastTry?: boolean
    /** With `throttled`: seconds until the next attempt is checked. */
    retryAfter?: number
    /** With `unavailable`: the request id in the log. */
    errorId?: string
    /** The kind of name that users type. @default 'either' */
    identifier?: 'email' | 'username' | 'either'
    /** Pages of the host, which lead back here. */
    links?: { readonly forgotPassword?: string; readonly signUp?: string }
    /** Whether the other ways to sign in stand above the form. @default false */
    providersFirst?: boolean
    /** Other ways to sign in, which lead back here. */
    providers?: readonly { readonly name: string; readonly url: string; readonly icon?: string }[]
    /** Ways to sign in beside the password. The partial of the same name shows one. */
    methods?: readonly {
      readonly method: string
      /** Input for its script. */
      readonly prompt: string
      /** An addition to the `autocomplete` of the field before it. */
      readonly autocomplete?: string
    }[]
    /** The only one of `methods` that is enough here: the page asks for no password. */
    needed?: string | undefined
    /**
     * The login of this browser has ended, and the user must sign in again; or a code was not entered in time or was wrong too
     * often.
     */
    notice?: 'signed-out' | 'start-again'
    /** With `confirm`: the form for another user. */
    switchUrl?: string
    /** The user who is signed in, and the page that goes on with that login. */
    signedIn?: { readonly username: string; readonly url: string }
  }
  /** Lets a signed-in user choose an account (`prompt=select_account`). */
  'select-account': PageForm & {
    client: ClientCard
    /** The user who is signed in. */
    username: string
  }
  /** The host does not let the user use the client (`access.allow`), or there is no organization for it. */
  'access-denied': PageForm & {
    client: ClientCard
    /** The user who is signed in. */
    username: string
    /** The host's explanation, as text. */
    reason?: string
    /** `none`: the user belongs to no organization; `other`: not to the one that the client asks for. */
    lack?: OrganizationLack
    /** With `lack`: the product's home page. */
    homeUrl?: string
    /** A device asks, to which no link leads. */
    device?: boolean
  }
  /** Its form is also that of "Not you?" and of the choice of another organization. */
  consent: PageForm & {
    client: ClientCard
    /** The user who is signed in. */
    username: string
    /** Absent without the option `organizations`. */
    organization?: ConsentOrganization
    /** In display order. Scopes about the user's identity that are not optional are one entry. */
    scopes: readonly ConsentScope[]
    /** Answers to all of them at once; `preset` names the selected one, and the field of the form. Absent if nothing is optional. */
    presets?: readonly ConsentPreset[]
    preset?: ConsentPreset
    /** Those that the organization does not let this client have; absent if there are none. */
    leftOut?: readonly Pick<ConsentScope, 'description' | 'language' | 'group'>[]
    /** Absent if there are none. */
    details?: readonly ConsentDetail[]
    /** The things to choose, by kind; absent if there are none. */
    things?: readonly ConsentThings[]
    /**
     * How long the client may have access; posts as `duration`. `seconds` is the end at the latest. Absent if access ends with the
     * login.
     */
    durations?: readonly {
      readonly duration: 'lasting' | 'month' | 'day'
      readonly seconds: number
      readonly checked: boolean
    }[]
    /** The host that both answers redirect to; absent for an app on the user's device. */
    redirectTo?: string
    /** The answer goes to another device, to which the user returns. */
    device?: boolean
    /** The page where the user can remove the client later. */
    accountUrl?: string
    notice?: ConsentNotice
  }
  /** Lets the user choose an organization. One press chooses and goes on; it also has "Not you?" and Cancel. */
  organization: PageForm &
    PageLinks & {
      client: ClientCard
      /** The user who is signed in. */
      username: string
      /** Those of this page, the last used ones first. The id posts as `organization`. */
      organizations: readonly Organization[]
      /** The id of the one that the consent page was for; absent if the user has not chosen yet. */
      current?: string
      /** The words of the search; absent if there are few. They are sent by GET, as `q` beside `authorization_request`. */
      query?: string
      /** How many there are in all, and which of them are on this page. */
      range: { readonly first: number; readonly last: number; readonly total: number }
      notice?: ConsentNotice
    }
  /** Lets the user choose among many things. Search, the pages and the answer are buttons of one form, so that no tick is lost. */
  things: PageForm & {
    /** The client that gets access; absent for a token that the user makes for themselves. */
    client?: ClientCard
    /** The user who is signed in. */
    username: string
    /** The host's word for several of them. */
    name: string
    /** Those of this page; each posts as `thing:<id>`. */
    things: readonly ThingRow[]
    /** The words of the search; post as `q`. */
    query: string
    /** How many are chosen, on all pages. */
    count: number
    /** How many there are, if the host says it. */
    total?: number
    hasPrevious: boolean
    hasNext: boolean
    /** More than this many were ticked, and only so many are chosen. */
    limit?: number
    /** The user may choose all on the page before. */
    mayAll: boolean
  }
  /** The user's connected apps. */
  account: AccountPageModel &
    PageLinks & {
      /** In display order. */
      clients: readonly ConnectedClientCard[]
      /** The name of the client that was just removed. */
      removed?: string
      /** The organization that it can no longer use. */
      removedOrganization?: string
    }
  /** Takes something away from one of them: what is no longer ticked. The names of the fields are those of `consent`. */
  'narrow-client': PageForm &
    PageLinks & {
      client: Pick<ClientCard, 'name' | 'host'>
      organization?: string
      /** The user who is signed in. */
      username: string
      scopes: readonly Pick<ConsentScope, 'name' | 'description' | 'language' | 'group' | 'resources'>[]
      /** Of many things those of this page; the others stay as they are. */
      things: readonly ConsentThings[]
      /** Earlier ends. */
      durations: readonly { readonly duration: 'month' | 'day'; readonly seconds: number }[]
      /** ISO 8601: when its access ends now. */
      ends?: string
      notice?: 'saved'
      /** The list of connected apps. */
      cancelUrl: string
    }
  /** The organizations that the user looks after. */
  organizations: AccountPageModel & {
    organizations: readonly {
      readonly name: string
      readonly detail?: string | undefined
      readonly url: string
    }[]
    /** They are no administrator of the one that a page is about. */
    isForbidden?: boolean
  }
  /** Asks whether to remove one of them. */
  'remove-client': PageForm & {
    client: Pick<ClientCard, 'name' | 'host'>
    /** The organization of this entry. */
    organization?: string
    /** One of the host's own clients, which does not need consent the next time. */
    firstParty: boolean
    username: string
    /** The list of connected apps. */
    cancelUrl: string
  }
  /** With the host's own login page: the user came back without a login. */
  'account-sign-in': {
    /** The host's login page. */
    url: string
  }
  error: {
    /**
     * `finished`: the request was answered before; `cookies`: the browser sent none. `disabled`: the host has turned the client
     * off. `unapproved`: it has never approved the client, which `waiting` and `refused` say to who looks after it.
     */
    kind:
      | 'error'
      | 'expired'
      | 'finished'
      | 'cookies'
      | 'busy'
      | 'unavailable'
      | 'forbidden'
      | 'not-found'
      | 'unknown-client'
      | 'disabled'
      | 'unapproved'
      | 'waiting'
      | 'refused'
    /** The texts are `error.<texts>-<kind>`, of a feature, and the page shows the code. */
    texts?: string
    /** Error code (RFC 6749 §4.1.2.1 and others). */
    code: string
    /** The request id in the log. */
    errorId: string
    /** ISO 8601. */
    time: string
    /** For those who write the client; in production only with `manageUrl`. */
    detail?: string
    /** The value that the request should have had, and the one that it had; in production only with `manageUrl`. */
    explanation?: {
      readonly expected: string
      /** The first part is also expected. */
      readonly received: readonly [same: string, other: string]
    }
    /** The command that explains the error; never set in production. */
    command?: string
    /** With `unavailable` and `busy`: the same page may be opened again. */
    mayRetry?: boolean
    /** The client whose request has ended, and its page where the user can go on. */
    client?: { name: string; uri?: string }
    /** The product's home page, if there is no client to return to. */
    homeUrl?: string
    /** The page of the client, for its owner and for operators. */
    manageUrl?: string
    /** With `forbidden`: who is signed in, and where another user can sign in instead. */
    account?: { username: string; switchUrl: string }
    /** With `forbidden`, if no user is signed in: where one can sign in, and come back. */
    signInUrl?: string
  }
  /** Asks for confirmation before signing out, if the request does not prove that the user wants it. */
  'sign-out': PageForm & {
    /** The client that requests it, if any. */
    client?: string
    username: string
    /** Where the user goes on without signing out. */
    stayUrl: string
  }
  'signed-out': {
    /** Where the user can sign in again. */
    signInUrl?: string
    /** A registered client and its home page, where the user can continue. */
    client?: { name: string; uri: string }
    /** The host's own login could not be ended. */
    stillSignedIn?: boolean
    /** With `stillSignedIn`: the product's page, where the user can end that login. */
    homeUrl?: string
    /** Logout pages of clients, opened in hidden frames (OIDC Front-Channel Logout). */
    frames?: readonly string[]
  }
  /** Sent with status 200 after the host's own login page, so that its `form-action 'self'` does not apply to later redirects. */
  return: {
    url: string
    /** As on `signed-out`; the page goes on when they have loaded. */
    frames?: readonly string[]
  }
  /**
   * Submits itself to the client (OAuth 2.0 Form Post Response Mode), or a form of the client to us; without scripts the user
   * presses a button.
   */
  'form-post': {
    /** A verified redirect URI, or a path of our own. */
    action: string
    fields: Readonly<Record<string, string>>
  }
}

/**
 * The name of a page.
 *
 * @hidden
 */
export type PageName = keyof PageModels

/** Whether a page is for operators. Its texts are in English only. */
export const isOperatorPage = (page: PageName): boolean => page.startsWith('operator-')

/** A page in one of its states. */
export type Sample = { [Name in PageName]: { name: string; page: Name; model: PageModels[Name] } }[PageName]
