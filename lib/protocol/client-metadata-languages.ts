import { lookUpLanguage } from './languages.ts'

/** Members that people read: a client may have each in several languages, as `client_name#de` (RFC 7591 §2.2). */
export const localizedNames = ['client_name', 'client_uri', 'logo_uri', 'policy_uri', 'tos_uri'] as const

export type LocalizedName = (typeof localizedNames)[number]

/** Those members, plain and in any language. */
export type LocalizedMetadata = Readonly<
  Partial<Record<LocalizedName | `${LocalizedName}#${string}`, string>>
>

/**
 * The plain name and the language of such a member, its tag in canonical form: names that differ in case alone are one.
 *
 * @returns undefined for any other name
 * @example parseLocalizedName('client_name#DE-at') // { name: 'client_name', tag: 'de-AT' }
 */
export const parseLocalizedName = (member: string): { name: LocalizedName; tag: string } | undefined => {
  const [before, tag, ...rest] = member.split('#')
  const name = localizedNames.find((each) => each === before)
  if (name === undefined || tag === undefined || rest.length > 0) return undefined
  try {
    const [canonical] = Intl.getCanonicalLocales(tag)
    return canonical === undefined ? undefined : { name, tag: canonical }
  } catch {
    return undefined
  }
}

/** What a client says in a language, else what it says in none. */
export const inLanguage = (
  metadata: LocalizedMetadata,
  name: LocalizedName,
  language: string | undefined,
): string | undefined => {
  if (language === undefined) return metadata[name]
  const tags = Object.keys(metadata)
    .filter((member) => member.startsWith(`${name}#`))
    .map((member) => member.slice(name.length + 1))
  const tag = lookUpLanguage([language], tags)
  return tag === undefined ? metadata[name] : metadata[`${name}#${tag}`]
}
