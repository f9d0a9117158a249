/** The fewest bits of a secret, by the estimate below. 32 random hexadecimal digits have about 115, and hardly ever fewer than 90. */
const minBits = 80

/** The part that a string repeats from its beginning to its end; the whole string if it repeats nothing. */
const repeatedPart = (text: string): string => {
  let length = 1
  while (!text.startsWith(text.slice(length))) length += 1
  return text.slice(0, length)
}

/** Shannon's estimate: how often each character occurs, times the length. */
const estimatedBits = (text: string): number => {
  const counts = new Map<string, number>()
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1)
  return [...counts.values()].reduce((bits, count) => bits - count * Math.log2(count / text.length), 0)
}

/**
 * Whether a secret may be random. It only recognises secrets that are certainly not: those with few different characters,
 * and a short part that is repeated.
 *
 * @example isUnpredictable('changeme'.repeat(4)) // false
 */
export const isUnpredictable = (secret: string): boolean => estimatedBits(repeatedPart(secret)) >= minBits
