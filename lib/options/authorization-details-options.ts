import type { ClientMetadata } from '../protocol/clients/client-metadata.ts'
import type { AuthorizationDetail } from '../protocol/requests/authorization-details.ts'
import type { ScopeWords } from './page-options.ts'

/** One line of an authorization detail on the consent page. */
export interface DetailField {
  /** What the value is, in the language of the page. */
  label: string
  /** The value, as plain text. */
  value: string
}

/** A type of `authorization_details` (RFC 9396 §2.1). */
export interface AuthorizationDetailsType {
  /** The heading of each object on the consent page, and the line on Connected apps: "Make a payment". */
  description: string
  /** The same text in other languages, by language tag. @default {} */
  locales?: Readonly<Record<string, Pick<ScopeWords, 'description'>>>
  /**
   * Checks an object of a request. It may return another one, such as with more members, which takes its place. Throw an
   * `OAuthError` with the code `invalid_authorization_details` to refuse the request. @default accepts every object
   */
  parse?(
    detail: AuthorizationDetail,
    request: { readonly client: Readonly<ClientMetadata> & { readonly client_id: string } },
  ): AuthorizationDetail | undefined | Promise<AuthorizationDetail | undefined>
  /**
   * Returns what the consent page says about an object: labels and values as plain text. It must return the same for the
   * same object. @default all members of the object
   */
  describe?(
    detail: AuthorizationDetail,
    page: { readonly language: string },
  ): readonly DetailField[] | Promise<readonly DetailField[]>
  /**
   * The name of a template in `views` that shows an object instead of its lines, such as `'partials/payment'`.
   * @default a list of labels and values
   */
  partial?: string
  /** Whether a user who allowed an object is not asked again for the same one. @default false: always asked */
  remember?: boolean
  /** The resource whose tokens have these objects; other tokens lack them. @default all tokens */
  resource?: string
}
