import type { ClientMetadata } from '../protocol/clients/client-metadata.ts'
import { type AuthorizationDetail, isDetailType } from '../protocol/requests/authorization-details.ts'
import { refuse } from './check.ts'
import { languageTag } from './pages.ts'
import { knownResource } from './resources.ts'
import { type Checked, callback, flag, type ObjectSchema, object, record, required, text } from './schema.ts'

/** One line of an authorization detail on the consent page. */
export interface DetailField {
  /** The name of the value, in the language of the page. */
  label: string
  /** The value, as plain text. */
  value: string
}

/** An authorization detail on the consent page, with words of its own. */
export interface DetailDescription {
  /**
   * The heading, which replaces `description`: "Pay €123.50". It heads the whole page if the request has no other object.
   * @default the description of the type
   */
  heading?: string
  /**
   * The button that allows the request, if the request has no other object: "Pay €123.50 to Merchant A". If it has more than
   * 60 characters, the button says "Allow". @default "Allow", in the language of the page
   */
  button?: string
  /** The lines below the heading. */
  fields: readonly DetailField[]
}

const description = required(text('the heading on the consent page'))

const members = {
  /** The heading of each object on the consent page: “Make a payment”. It is also the line on Connected apps. */
  description,
  /** This text in other languages, by language tag: `{ de: { description } }`. */
  locales: record(
    object({
      /** The heading in this language. */
      description,
    }),
    languageTag,
  ),
  /**
   * Checks an object of a request, and may return another in its place. Throw an `OAuthError` with the code
   * `invalid_authorization_details` to refuse the request. @default accepts every object
   */
  parse:
    callback<
      (
        detail: AuthorizationDetail,
        request: { readonly client: Readonly<ClientMetadata> & { readonly client_id: string } },
      ) => AuthorizationDetail | undefined | Promise<AuthorizationDetail | undefined>
    >(),
  /**
   * Returns what the consent page says about an object: labels and values, perhaps with a heading and a button. It must
   * return the same for the same object. @default all members of the object
   */
  describe:
    callback<
      (
        detail: AuthorizationDetail,
        page: { readonly language: string },
      ) => readonly DetailField[] | DetailDescription | Promise<readonly DetailField[] | DetailDescription>
    >(),
  /**
   * A template in `pages.views` that shows an object instead of its lines, such as `'partials/payment'`. @default a list of
   * labels and values
   */
  partial: text(),
  /** A user who allowed an object is not asked again for the same one. */
  remember: flag(false),
  /** The resource whose tokens have these objects; other tokens lack them. @default all tokens */
  resource: text(),
}

type DetailSchemasMembers = typeof members

/** The members of a type of `authorization_details`. */
export interface DetailSchemas extends DetailSchemasMembers {}

const detailType: ObjectSchema<DetailSchemas> = object(members)

/** A type of `authorization_details` (RFC 9396 §2.1), checked. */
export type DetailType = Checked<typeof detailType>
/** Types by name. */
export type DetailTypes = Readonly<Record<string, DetailType>>

export const authorizationDetails = record(detailType, (name, path) =>
  isDetailType(name)
    ? name
    : refuse(`${path}['${name}']: a type must be 1 to 100 characters of ASCII without spaces and quotes`),
)

/**
 * Completes the types.
 *
 * @throws OptionsError for a template without a folder, and an unknown resource
 */
export const completeDetailTypes = (
  types: DetailTypes,
  options: {
    readonly pages: { readonly views?: string | undefined }
    readonly resources: Readonly<Record<string, unknown>>
  },
): DetailTypes =>
  Object.fromEntries(
    Object.entries(types).map(([name, type]) => {
      const where = `protocol.authorizationDetails['${name}']`
      if (type.partial !== undefined && options.pages.views === undefined)
        refuse(`${where}.partial is the name of a template in pages.views, which is not set`)
      if (type.resource === undefined) return [name, type]
      return [name, { ...type, resource: knownResource(`${where}.resource`, type.resource, options) }]
    }),
  )
