import { type ClientFieldNames, formFieldOf, type TypedClient } from '../../oauth/clients/client-form.ts'
import { OAuthError } from '../../protocol/errors.ts'
import { type DeveloperProblem, problemOf } from './problem.ts'
import type { DeveloperFields } from './rules.ts'

/** A mistake in a form. */
export interface Mistake {
  /** Undefined if it is about no field. */
  readonly field?: string | undefined
  /** The line of a field with several. */
  readonly line?: number | undefined
  /** In English, as registration says it. */
  readonly error: string
  /** Undefined if the form has no words of its own for it. */
  readonly problem?: DeveloperProblem | undefined
}

/** Fields in which nothing is wrong, beside the one that is looked at. */
const harmless: DeveloperFields = {
  client_name: 'App',
  redirect_uris: ['https://app.example.com/callback'],
  scope: 'openid',
  client_uri: null,
  logo_uri: null,
  policy_uri: null,
  tos_uri: null,
}

/**
 * Every mistake of a refused form, each with its field and line: the rules stop at the first one, so each field, and each
 * address, is checked by itself.
 *
 * @param form.typed the lines that the person sees
 * @param form.check throws for fields that registration refuses
 * @param error of the whole form, for what is wrong only together
 */
export const mistakesOf = (
  {
    names,
    typed,
    fields,
    scopes,
    check,
  }: {
    readonly names: ClientFieldNames
    readonly typed: TypedClient
    readonly fields: DeveloperFields
    readonly scopes: readonly string[]
    check(fields: DeveloperFields): unknown
  },
  error: OAuthError,
): readonly Mistake[] => {
  const found = (by: OAuthError, line?: number): Mistake => ({
    field: formFieldOf(by, names),
    line,
    error: by.message,
    problem: problemOf(by),
  })
  const refusal = (tried: DeveloperFields, field: string): OAuthError | undefined => {
    try {
      check(tried)
      return undefined
    } catch (thrown) {
      if (!(thrown instanceof OAuthError)) throw thrown
      return formFieldOf(thrown, names) === field ? thrown : undefined
    }
  }
  const base = { ...harmless, scope: scopes[0] ?? harmless.scope }
  const lines = (typed.redirect_uris ?? '')
    .split('\n')
    .map((text, index) => ({ uri: text.trim(), line: index + 1 }))
  const uris = lines
    .filter(({ uri }) => uri !== '')
    .map(({ uri, line }) => ({ uri, line, by: refusal({ ...base, redirect_uris: [uri] }, 'redirect_uris') }))
  const good = uris.filter(({ by }) => by === undefined).map(({ uri }) => uri)
  const rest = { ...base, redirect_uris: good.length > 0 ? good : base.redirect_uris }
  const isOneLine = lines.length === 1
  const ofUris = uris.flatMap(({ line, by }) => (by ? [found(by, isOneLine ? undefined : line)] : []))
  const ofOthers = Object.entries(fields).flatMap(([name, value]) => {
    if (name === 'redirect_uris' && uris.length > 0) return []
    const by = refusal({ ...rest, [name]: value }, name === 'scope' ? 'scopes' : name)
    return by ? [found(by)] : []
  })
  const all = names.flatMap((name) => [...ofUris, ...ofOthers].filter(({ field }) => field === name))
  return all.length > 0 ? all : [found(error)]
}
