import { hashSecret } from '../keys/secrets.ts'
import type { Limit } from '../options/limits.ts'
import { type Counter, counterOf, type Group } from './counters.ts'
import { networkOf, siteOf } from './network.ts'

/** A browser in which the login name that was typed has been used before. */
export interface KnownDevice {
  readonly id: string
  /** Whether this user was the one who logged in. */
  isOf(subject: string): boolean
}

/** Who tries to log in. */
export interface LoginAttempt {
  /** Stands for the login name that was entered and all that look like it, whether or not they exist. */
  readonly account: string
  readonly address: string
  readonly device?: KnownDevice | undefined
}

/** The limits on wrong passwords. */
export type LoginLimits = Readonly<
  Record<'loginAccountAddress' | 'loginAddress' | 'loginNetwork' | 'loginAccount', Limit | false>
>

/** Of a browser in which an account was used before, if `loginAccountAddress` is off. */
const defaultDeviceLimit: Limit = { max: 5, seconds: 900 }

const day = 86_400
/** Counters that protect one account. */
export const byAccount = ['loginAccountAddress', 'loginAccount']

/** Seconds in which a sign-in makes a name known at an address. */
const returningFor = 30 * day
/** Names that are known at an address may fail so many times its limit beyond it, all together. */
const mostReturning = 10

/** The counters of a failed attempt. */
export interface LoginCounters {
  everyone(attempt: LoginAttempt): Group
  /** Empty for an unknown browser. */
  device(attempt: LoginAttempt): Group
  /** Counts the sign-ins under a name at an address from browsers that were not known; it limits nothing. */
  signIns(attempt: LoginAttempt): Counter
  /** Where the address is beyond its limit: the counters of the account, and a larger limit of the address. */
  returning(attempt: LoginAttempt): Group
}

export const createLoginCounters = (limits: LoginLimits): LoginCounters => {
  const everyone = ({ account, address }: LoginAttempt): Group => {
    const network = networkOf(address)
    return [
      ...counterOf('loginAccountAddress', limits.loginAccountAddress, `${account}:${network}`, account),
      ...counterOf('loginAddress', limits.loginAddress, network),
      ...counterOf('loginNetwork', limits.loginNetwork, siteOf(address)),
      ...counterOf('loginAccount', limits.loginAccount, account),
    ]
  }

  const device = ({ device: known }: LoginAttempt): Group =>
    known === undefined
      ? []
      : [{ name: 'loginDevice', limit: limits.loginAccountAddress || defaultDeviceLimit, key: known.id }]

  const signIns = ({ account, address }: LoginAttempt): Counter => ({
    name: 'loginAt',
    limit: { max: Number.MAX_SAFE_INTEGER, seconds: returningFor },
    key: hashSecret(`${account}:${networkOf(address)}`),
  })

  const returning = (attempt: LoginAttempt): Group => {
    const limit = limits.loginAddress || limits.loginNetwork
    return [
      ...everyone(attempt).filter(({ name }) => byAccount.includes(name)),
      ...(limit
        ? [
            {
              name: 'loginReturning',
              limit: { ...limit, max: limit.max * mostReturning },
              key: networkOf(attempt.address),
            },
          ]
        : []),
    ]
  }

  return { everyone, device, signIns, returning }
}
