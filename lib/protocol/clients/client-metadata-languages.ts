import { isShortTag, lookUpLanguage } from '../languages.ts'

/** Members for display, which a client may have in several languages, such as `client_name#de` (RFC 7591 §2.2). */
export const localizedNames = ['client_name', 'client_uri', 'logo_uri', 'policy_uri', 'tos_uri'] as const

export type LocalizedName = (typeof localizedNames)[number]

/** These members, without and with a language tag. */
export type LocalizedMetadata = Readonly<
  Partial<Record<LocalizedName | `${LocalizedName}#${string}`, string>>
>

/**
 * Splits the name of a member into plain name and language tag. The tag is canonical, because its case has no meaning.
 *
 * @returns undefined for any other name
 * @example parseLocalizedName('client_name#DE-at') // { name: 'client_name', tag: 'de-AT' }
 */
export const parseLocalizedName = (member: string): { name: LocalizedName; tag: string } | undefined => {
  const [before, tag, ...rest] = member.split('#')
  const name = localizedNames.find((each) => each === before)
  if (name === undefined || tag === undefined || rest.length > 0 || !isShortTag(tag)) return undefined
  try {
    const [canonical] = Intl.getCanonicalLocales(tag)
    return canonical === undefined ? undefined : { name, tag: canonical }
  } catch {
    return undefined
  }
}

/** The most members in some language that a client may have. */
const maxLocalized = 100

/** Whether these are more members than a client may have in all languages. */
export const hasTooManyLanguages = (members: readonly string[]): boolean =>
  members.filter((member) => member.includes('#')).length > maxLocalized

/** The member in the given language, or else the one without a language tag. */
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
