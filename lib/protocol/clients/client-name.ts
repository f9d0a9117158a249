import { refuseMetadata } from './client-metadata-checks.ts'
import { parseLocalizedName } from './client-metadata-languages.ts'

/** Scripts in which some letters look like those of another one of them. */
const similarScripts = [
  /\p{Script=Latin}/u,
  /\p{Script=Cyrillic}/u,
  /\p{Script=Greek}/u,
  /\p{Script=Armenian}/u,
  /\p{Script=Cherokee}/u,
  /\p{Script=Coptic}/u,
  /\p{Script=Lisu}/u,
]

const word = /[\p{L}\p{M}\p{N}]+/gu

/** A joiner or variation selector changes nothing in these scripts; it would only make two equal names differ. */
export const pointlessJoiner =
  /[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\p{N}\p{Zs}](?:\u200c|\u200d|[\ufe00-\ufe0f])/u

/** Letters of formulas, such as 𝐀 and 𝒜, which look like Latin ones. */
const formulaLetter = /[\u{1d400}-\u{1d7ff}]/u

/** Whether a word mixes scripts whose letters look alike, such as a Latin word with a Cyrillic а. */
const isMixed = (text: string): boolean => similarScripts.filter((script) => script.test(text)).length > 1

/**
 * Refuses names by which an unverified client could pass for another one. Names in a single script, and
 * words of different scripts beside each other, are fine.
 *
 * @param metadata client metadata by name, `client_name` also with language tags
 * @throws OAuthError `invalid_client_metadata`
 */
export const assertPlainNames = (metadata: Readonly<Record<string, unknown>>): void => {
  for (const [member, value] of Object.entries(metadata)) {
    if ((parseLocalizedName(member)?.name ?? member) !== 'client_name' || typeof value !== 'string') continue
    if ((value.match(word) ?? []).some(isMixed))
      refuseMetadata(member, 'must not mix alphabets within a word')
    if (pointlessJoiner.test(value) || formulaLetter.test(value)) {
      refuseMetadata(member, 'must not contain characters that imitate others')
    }
  }
}
