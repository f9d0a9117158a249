/** One step of a way through a regular expression; a check is an assertion, or the end. */
type Step =
  | { readonly kind: 'character' | 'loop'; readonly set: ReadonlySet<string> }
  | { readonly kind: 'check' }
type Way = readonly Step[]

/** The characters by which sets are compared: all of Latin-1, and some beyond. */
const alphabet = [
  ...Array.from({ length: 256 }, (_, code) => String.fromCharCode(code)),
  'ſ',
  'K',
  'ﬁ',
  'α',
  'ж',
  'あ',
  '１',
  '\u200b',
  '\u2028',
  '\u202e',
  '\ufeff',
  '\ufffd',
]
const everything: Step = { kind: 'loop', set: new Set(alphabet) }
const check: Step = { kind: 'check' }

const atom = /^(?:\[(?:\\.|[^\]\\])*\]|\\[pP]\{[^}]*\}|\\u[0-9a-f]{4}|\\x[0-9a-f]{2}|\\.|[^\\])/i
const quantifier = /^(?:([*+?])|\{(\d+)(?:(,)(\d*))?\})\??/
const opening = /^\((?:\?(?:[:=!]|<[=!]|<\w+>))?/
const maxWays = 1000

/**
 * Finds what makes a regular expression take more than linear time on some input: a loop that another loop before it
 * can replace, or that the search for a beginning can. It may also name one that is harmless, never the reverse as far as
 * loops over single characters go; everything more complex is refused.
 *
 * @returns what is wrong, or undefined
 */
export const slowShape = (source: string, flags: string): string | undefined => {
  let rest = source
  let complaint: string | undefined
  const take = (pattern: RegExp): RegExpExecArray | null => {
    const found = pattern.exec(rest)
    if (found) rest = rest.slice(found[0].length)
    return found
  }

  const setOf = (text: string): ReadonlySet<string> => {
    const pattern = new RegExp(`^${text}$`, flags.replace(/[gym]/g, ''))
    return new Set(alphabet.filter((character) => pattern.test(character)))
  }

  const alternatives = (): Way[] => {
    const ways = [...sequence()]
    while (take(/^\|/)) ways.push(...sequence())
    return ways
  }

  const group = (): Way[] => {
    const [start = ''] = take(opening) ?? []
    const ways = alternatives()
    take(/^\)/)
    if (!/[=!]$/.test(start)) return ways
    if (ways.flat().some(({ kind }) => kind === 'loop')) complaint = 'an assertion has a loop'
    return [[check]]
  }

  const sequence = (): Way[] => {
    let ways: Way[] = [[]]
    while (rest !== '' && !/^[|)]/.test(rest)) {
      const steps = repeated(item())
      ways = ways.flatMap((way) => steps.map((more) => [...way, ...more]))
      if (ways.length > maxWays) throw new Error(`too many ways through ${source}`)
    }
    return ways
  }

  const item = (): Way[] => {
    if (rest.startsWith('(')) return group()
    if (take(/^(?:\^|\$|\\b|\\B)/)) return [[check]]
    if (/^\\[1-9k]/.test(rest)) complaint = 'a reference to a group'
    return [[{ kind: 'character', set: setOf(take(atom)?.[0] ?? '') }]]
  }

  const repeated = (ways: Way[]): Way[] => {
    const [text, sign, least, comma, most] = take(quantifier) ?? []
    if (text === undefined) return ways
    const min = sign === '+' ? 1 : Number(least ?? 0)
    const isEndless = sign === '*' || sign === '+' || (comma !== undefined && most === '')
    const isOnce = sign === '?' || (comma === undefined ? least : most) === '1'
    if (!isEndless && !isOnce && ways.flat().some(({ kind }) => kind === 'loop'))
      complaint = 'a repeated loop'
    const optional: Way[] = min === 0 && !isEndless ? [[], ...ways] : ways
    return isEndless ? endless(ways, min) : optional
  }

  /** A loop over alternatives is one over all their characters, if their first characters differ and none loops. */
  const endless = (ways: Way[], min: number): Way[] => {
    const steps = ways.flat()
    if (steps.some(({ kind }) => kind !== 'character')) complaint = 'a loop in a loop'
    const seen = new Set<string>()
    for (const [first] of ways) {
      for (const character of first && 'set' in first ? first.set : []) {
        if (seen.has(character)) complaint = 'a loop over alternatives that begin alike'
        seen.add(character)
      }
    }
    const loop: Step = {
      kind: 'loop',
      set: new Set(steps.flatMap((step) => ('set' in step ? [...step.set] : []))),
    }
    return min === 0 ? [[loop]] : ways.map((way) => [...way, loop])
  }

  const isAnchored = (way: string): boolean => way.startsWith('^') && !flags.includes('m')
  const separate = splitAtTop(source)
  const found = separate.flatMap((one) => {
    rest = one
    const ways = alternatives()
    return ways.map((way) => ambiguity(isAnchored(one) || flags.includes('y') ? way : [everything, ...way]))
  })
  return complaint ?? found.find(Boolean)
}

/** The alternatives of a whole expression, because each has its own anchor. */
const splitAtTop = (source: string): string[] => {
  const parts = ['']
  let depth = 0
  for (const [token] of source.matchAll(/\[(?:\\.|[^\]\\])*\]|\\.|[\s\S]/g)) {
    if (token === '(') depth += 1
    if (token === ')') depth -= 1
    if (token === '|' && depth === 0) parts.push('')
    else parts[parts.length - 1] += token
  }
  return parts
}

/** Whether two loops of one way can share a run of characters, and what follows them can fail. */
const ambiguity = (way: Way): string | undefined => {
  for (const [from, first] of way.entries()) {
    if (first.kind !== 'loop') continue
    for (const [to, second] of way.entries()) {
      if (to <= from || second.kind !== 'loop') continue
      const shared = [...first.set].filter((character) => second.set.has(character))
      const crosses = (step: Step): boolean =>
        step.kind !== 'character' || shared.some((each) => step.set.has(each))
      const isShared = shared.length > 0 && way.slice(from + 1, to).every(crosses)
      const mayFail = way.slice(to + 1).some(({ kind }) => kind !== 'loop')
      if (isShared && mayFail)
        return first === everything
          ? 'a search that loops from every beginning'
          : 'two loops over the same characters'
    }
  }
  return undefined
}
