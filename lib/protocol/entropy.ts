/** The fewest bits of a secret, by the estimate below. 32 random hexadecimal digits have about 115, and hardly ever fewer than 90. */
const minBits = 80

/** The part that a string repeats from its beginning to its end; the whole string if it repeats nothing. */
const repeatedPart = (text: string): string => {
  // The failure function of Knuth, Morris and Pratt: the longest proper prefix that is also a suffix.
  const lengths: number[] = [0]
  for (let end = 1; end < text.length; end += 1) {
    let length = lengths[end - 1] ?? 0
    while (length > 0 && text[end] !== text[length]) length = lengths[length - 1] ?? 0
    lengths.push(text[end] === text[length] ? length + 1 : 0)
  }
  return text.slice(0, text.length - (lengths.at(-1) ?? 0))
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
