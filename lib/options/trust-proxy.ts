import { isIP } from 'node:net'
import { custom, withDefault } from './schema.ts'

/** The number of proxies, or their addresses. */
export type TrustProxy = number | readonly string[]

/** A range of addresses. */
interface Range {
  readonly address: string
  readonly family: 'ipv4' | 'ipv6'
  readonly bits: number
}

/** Names that Express knows as well. */
const named: Readonly<Record<string, readonly string[]>> = {
  loopback: ['127.0.0.0/8', '::1/128'],
  linklocal: ['169.254.0.0/16', 'fe80::/10'],
  uniquelocal: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
}

const rangeOf = (value: string): Range | undefined => {
  const [, address = '', given] = /^([^/]+)(?:\/([0-9]{1,3}))?$/.exec(value) ?? []
  const version = isIP(address)
  const most = version === 4 ? 32 : 128
  const bits = given === undefined ? most : Number(given)
  // A range of all addresses would let clients choose their own.
  if (version === 0 || bits < 1 || bits > most) return undefined
  return { address, family: version === 4 ? 'ipv4' : 'ipv6', bits }
}

const rangesOf = (value: unknown): readonly (Range | undefined)[] =>
  typeof value !== 'string'
    ? [undefined]
    : (Object.hasOwn(named, value) ? (named[value] ?? []) : [value]).map(rangeOf)

const isRange = (range: Range | undefined): range is Range => range !== undefined

/** The ranges of a list that was checked. */
export const proxyRanges = (list: readonly string[]): readonly Range[] =>
  list.flatMap(rangesOf).filter(isRange)

const isTrustProxy = (value: unknown): value is TrustProxy =>
  Array.isArray(value)
    ? value.flatMap(rangesOf).every(isRange)
    : Number.isSafeInteger(value) && Number(value) >= 0

/** Which proxies are trusted where the host has no Express app with its own setting. */
export const trustProxy = withDefault(
  0,
  custom<TrustProxy>(
    "the number of your proxies, or a list of their addresses such as ['10.0.0.0/8', 'loopback']",
    (value) => (isTrustProxy(value) ? value : undefined),
  ),
)
