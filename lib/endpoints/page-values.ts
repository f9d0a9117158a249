import type { Parameters } from '../protocol/parameters.ts'

/** A time as pages show it: ISO 8601 of epoch seconds. */
export const iso = (seconds: number): string => new Date(seconds * 1000).toISOString()

/** The page of a list that a request names, from 1 to 999; anything else is the first page. */
export const pageNumberOf = (parameters: Parameters): number => {
  const page = parameters.optional('page') ?? '1'
  return /^[1-9][0-9]{0,2}$/.test(page) ? Number(page) : 1
}
