import type { Organization } from '../protocol/organization.ts'

/** A client as the pages show it. Logos of clients are never loaded: the pages draw its initials. */
export interface ClientCard {
  name: string
  /** Host of its redirect URI; empty where the URI has none (private-use schemes). */
  host: string
  /** Registered by itself: nobody has checked who runs it. */
  unverified: boolean
  /** Shown only when https (RFC 7591 §2). */
  policyUri?: string
  /** Shown only when https (RFC 7591 §2). */
  tosUri?: string
}

/** One thing the client asks for, in words for people. */
export interface ConsentScope {
  /** The scope value (RFC 6749 §3.3); an optional one posts as `scope:<name>`. */
  name: string
  /** One sentence seen from the user: "See your orders". */
  description: string
  /** More about it, folded away. */
  details?: string
  /** Language of both where it is not that of the page (BCP 47). */
  language?: string
  group: 'identity' | 'read' | 'change' | 'offline'
  /** The user may untick it. */
  optional: boolean
  /** Not among what the user allowed this client before. */
  isNew: boolean
  /** The page says that it can do harm. */
  isHighRisk?: boolean
  /** Whether the box of an optional scope is ticked at first. */
  checked: boolean
}

/** The workspaces that a consent may be for; a single one is shown, of several one is chosen. */
export interface ConsentOrganizations {
  /** Not empty. The id posts as `organization`. */
  choices: readonly Organization[]
  /** The id of the one that is ticked at first. */
  chosen?: string
  /** Nothing else is asked: the form posts the decision `choose`. */
  only?: boolean
  /** None was chosen, or one that the user does not belong to any more. */
  error?: 'missing' | 'gone'
}

/** A client that may do something for the user, as the list of connected apps shows it. */
export interface ConnectedClientCard {
  name: string
  /** Host of its redirect URI; empty where nothing tells. */
  host: string
  /** The workspace that it can use, as people call it. */
  organization?: string
  /** What it can do, in the words of the consent page. */
  scopes: readonly Pick<ConsentScope, 'description' | 'language' | 'group'>[]
  /** ISO 8601. */
  since: string
  /** ISO 8601. */
  lastUsed: string
  /** Sign-ins of which it can still use something. */
  sessions: number
  /** Leads to the page that asks whether to remove it. */
  removeUrl: string
}

/** What each page is made from. A page shows nothing that is not in its model or in the branding. */
export interface PageModels {
  login: {
    /** Path the form posts to. */
    action: string
    /** Hidden fields of the form, such as the request id and the CSRF token. */
    hidden: Readonly<Record<string, string>>
    /** The client waiting for the login; absent when none is, as after "Not you?" on our own pages. */
    client?: ClientCard
    /** Typed before, or `login_hint`; with `confirm` the account that must log in again. */
    username: string
    /** The account is fixed and only the password is asked (`prompt=login`, `max_age`). */
    confirm: boolean
    error?: 'credentials' | 'throttled' | 'unavailable'
    /** Seconds until another attempt may succeed, with `throttled`. */
    retryAfter?: number
  }
  /** Somebody is signed in, and the client wants them to choose (`prompt=select_account`). */
  'select-account': {
    /** Path the form posts to. */
    action: string
    hidden: Readonly<Record<string, string>>
    client: ClientCard
    /** Who is logged in. */
    username: string
  }
  consent: {
    /** Path the forms post to. */
    action: string
    /** Hidden fields of both forms: the decision, and "Not you?". */
    hidden: Readonly<Record<string, string>>
    client: ClientCard
    /** Who is logged in. */
    username: string
    /** Absent where the host knows no workspaces. */
    organizations?: ConsentOrganizations
    scopes: readonly ConsentScope[]
    /** What will be shared: claim names with the user's actual values, as text. */
    claims: readonly { name: string; value: string }[]
    /** Where both answers lead, as text: `https://host`. */
    redirectTo: string
    /** Page on which the user can remove the client again. */
    accountUrl?: string
  }
  /** The user's connected apps. */
  account: {
    /** Who is logged in. */
    username: string
    /** In the order of the list. */
    clients: readonly ConnectedClientCard[]
    /** Name of the client that was removed just now. */
    removed?: string
    /** The workspace that it can no longer use. */
    removedOrganization?: string
    signOutUrl: string
  }
  /** Asks whether to remove one of them. */
  'remove-client': {
    /** Path the form posts to. */
    action: string
    hidden: Readonly<Record<string, string>>
    client: Pick<ClientCard, 'name' | 'host'>
    /** The workspace that it is about. */
    organization?: string
    /** A client of the host's own: it is let in again without asking. */
    firstParty: boolean
    username: string
    /** Back to the list. */
    cancelUrl: string
  }
  /** With the host's own login page: somebody came back from it without a login. */
  'account-sign-in': {
    /** The host's login page. */
    url: string
  }
  error: {
    kind: 'error' | 'expired' | 'unavailable'
    /** Error code (RFC 6749 §4.1.2.1 and others). */
    code: string
    /** Finds the entry in the log. */
    errorId: string
    /** ISO 8601. */
    time: string
    /** For developers; pass it outside production only. */
    detail?: string
    /** Where the user can start again: a registered client with its registered home page. */
    client?: { name: string; uri: string }
  }
  /** Asks before signing out when nobody trustworthy has asked for it. */
  'sign-out': {
    action: string
    hidden: Readonly<Record<string, string>>
    /** The client that asks, if one does. */
    client?: string
    username: string
  }
  'signed-out': {
    /** A registered client and where its user may go on. */
    client?: { name: string; uri: string }
  }
  /** Answers 200: from the host's own login page back to us, so that `form-action 'self'` there ends here. */
  return: { url: string }
  /** Answers 200 and posts itself to the client (OAuth 2.0 Form Post Response Mode); a button does it without scripts. */
  'form-post': {
    /** A verified redirect URI. */
    action: string
    fields: Readonly<Record<string, string>>
  }
}

/** The pages there are. */
export type PageName = keyof PageModels

/** The URL as a link may carry it: https, or http on this machine; never with a user name that poses as the host. */
export const webLink = (value: string | undefined): string | undefined => {
  if (value === undefined || !/^https?:\/\//i.test(value) || !URL.canParse(value)) return undefined
  const url = new URL(value)
  const isLoopback = ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname)
  const isAllowed = (url.protocol === 'https:' || isLoopback) && url.username === '' && url.password === ''
  return isAllowed ? url.href : undefined
}

/** The URL when it is https, as for what a client registered about itself. */
export const httpsLink = (value: string | undefined): string | undefined => {
  const link = webLink(value)
  return link?.startsWith('https:') ? link : undefined
}

/** A link of the host's own: also a path, but not `//elsewhere`, nor `/\t/elsewhere`, which browsers read alike. */
export const hostLink = (value: string | undefined): string | undefined =>
  value !== undefined && /^\/(?![/\\])[^\s\p{Cc}]*$/u.test(value) ? value : webLink(value)

/** Where a form or a refresh leads. Throws a TypeError for what is neither a path nor a web link. */
export const ownUrl = (value: string): string => {
  const url = hostLink(value)
  if (url === undefined) throw new TypeError('a page may only lead to a path or an http(s) URL')
  return url
}
