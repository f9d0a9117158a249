import { isDetailType } from '../protocol/requests/authorization-details.ts'
import { canonicalResource } from '../protocol/requests/resource.ts'
import type { AuthorizationDetailsType } from './authorization-details-options.ts'
import { assertNames, assertRecord, assertType, closestOf, refuse } from './check.ts'
import { assertScopeWords } from './locales.ts'

/** Types by name. */
export type DetailTypes = Readonly<Record<string, AuthorizationDetailsType>>

const names = ['description', 'locales', 'parse', 'describe', 'partial', 'remember', 'resource']

/**
 * Checks the option `authorizationDetails`.
 *
 * @param options the views that partials are in, and the resources by identifier
 * @throws OptionsError
 */
export const checkedDetailTypes = (
  types: DetailTypes,
  { views, resources }: { readonly views?: unknown; readonly resources: Readonly<Record<string, unknown>> },
): DetailTypes => {
  assertRecord('authorizationDetails', types)
  return Object.fromEntries(
    Object.entries(types).map(([name, type]) => {
      const where = `authorizationDetails['${name}']`
      if (!isDetailType(name))
        refuse(`${where}: a type must be 1 to 100 characters of ASCII without spaces and quotes`)
      assertRecord(where, type)
      assertNames(`${where}.`, type, names)
      const { description, locales, partial, resource } = type
      if (typeof description !== 'string' || description === '') {
        refuse(`${where}.description is required: the heading on the consent page`)
      }
      assertScopeWords(where, { ...(locales && { locales }) })
      assertType(`${where}.parse`, type.parse, 'function')
      assertType(`${where}.describe`, type.describe, 'function')
      assertType(`${where}.remember`, type.remember, 'boolean')
      assertType(`${where}.partial`, partial, 'string')
      if (partial !== undefined && views === undefined) {
        refuse(`${where}.partial is the name of a template in views, which is not set`)
      }
      return [name, resource === undefined ? type : { ...type, resource: known(where, resource, resources) }]
    }),
  )
}

const known = (where: string, url: string, resources: Readonly<Record<string, unknown>>): string => {
  const identifier = canonicalResource(url) ?? url
  if (Object.hasOwn(resources, identifier)) return identifier
  return refuse(
    `${where}.resource: ${url} is not in the option resources${closestOf(url, Object.keys(resources))}`,
  )
}
