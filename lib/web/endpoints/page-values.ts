import type { ServerSetup } from '../../oauth/authorization-server.ts'
import type { Parameters } from '../../protocol/parameters.ts'
import { ownPath } from '../http/urls.ts'
import type { PageLinks } from '../pages/page-parts.ts'

/** A time as pages show it: ISO 8601 of epoch seconds. */
export const iso = (seconds: number): string => new Date(seconds * 1000).toISOString()

/** Parameters by name, in URLs and forms. */
export type NamedParameters = Readonly<Record<string, string>>

/** Those of the named parameters that are set. */
export const fieldsIn = (parameters: Parameters, names: readonly string[]): NamedParameters =>
  Object.fromEntries(
    names.flatMap((name) => {
      const value = parameters.optional(name)
      return value === undefined ? [] : [[name, value]]
    }),
  )

/** The page of a list that a request names, from 1 to 999; anything else is the first page. */
export const pageNumberOf = (parameters: Parameters): number => {
  const page = parameters.optional('page') ?? '1'
  return /^[1-9][0-9]{0,2}$/.test(page) ? Number(page) : 1
}

/** The links of a list to the pages before and after this one. */
export const pageLinks = (
  server: ServerSetup,
  path: string,
  { number, isLast }: { readonly number: number; readonly isLast: boolean },
  query: NamedParameters = {},
): PageLinks => {
  const url = (page: number): string => ownPath(server, path, { ...query, page: String(page) })
  return {
    ...(number > 1 && { previousUrl: url(number - 1) }),
    ...(!isLast && { nextUrl: url(number + 1) }),
  }
}

/** Names a client in URLs and forms. */
export const clientParameter = (clientId: string): { readonly client_id: string } => ({ client_id: clientId })
