import { assertNames, assertRecord, refuse } from './check.ts'
import type { Limit, Limits, RedisClient, ThrottleOptions } from './options.ts'

/** Checked limits with every default filled in. */
export interface Throttling {
  readonly store: 'database' | 'memory' | RedisClient
  /** Of endpoints and features only those that the host chose: they have their own defaults. */
  readonly limits: Readonly<LoginLimits & Quotas & Partial<Limits>>
}

/** The limits on wrong passwords. */
export type LoginLimits = Pick<
  Limits,
  'loginAccountAddress' | 'loginAddress' | 'loginNetwork' | 'loginAccount'
>

const quarterHour = 900
const day = 86_400

/** Of a browser in which an account was used before, if `loginAccountAddress` is off. */
export const defaultDeviceLimit: Limit = { failures: 5, seconds: quarterHour }

export const defaultLoginLimits: LoginLimits = {
  loginAccountAddress: { failures: 5, seconds: quarterHour },
  loginAddress: { failures: 20, seconds: quarterHour },
  loginNetwork: { failures: 200, seconds: quarterHour },
  loginAccount: { failures: 50, seconds: day },
}

/** Limits that count every use, not only failures. */
export type Quotas = Pick<
  Limits,
  'registration' | 'registrationDaily' | 'document' | 'documentHost' | 'secondFactorSend'
>

export const defaultQuotas: Quotas = {
  registration: { failures: 60, seconds: 3600 },
  registrationDaily: { failures: 300, seconds: day },
  document: { failures: 60, seconds: 3600 },
  documentHost: { failures: 600, seconds: 3600 },
  secondFactorSend: { failures: 10, seconds: 3600 },
}

const isRedis = (store: unknown): store is RedisClient =>
  typeof store === 'object' && store !== null && 'eval' in store && typeof store.eval === 'function'

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 1

const checkedLimit = (name: string, limit: unknown): Limit | false => {
  if (limit === false) return false
  assertRecord(name, limit)
  const { failures, seconds, ...others } = limit as Limit
  assertNames(`${name}.`, others, ['failures', 'seconds'])
  if (!isCount(failures) || !isCount(seconds)) {
    refuse(`${name} must be false, or whole numbers of at least 1 such as { failures: 5, seconds: 900 }`)
  }
  return { failures, seconds }
}

/**
 * Checks the option `throttle`. Returns undefined when all limits are off.
 *
 * @throws OptionsError
 */
export const checkedThrottle = (throttle: ThrottleOptions | false): Throttling | undefined => {
  if (throttle === false) return undefined
  assertRecord('throttle', throttle)
  assertNames('throttle.', throttle, ['store', 'limits'])
  const { store = 'database', limits = {} } = throttle
  if (store !== 'database' && store !== 'memory' && !isRedis(store)) {
    refuse("throttle.store must be 'database', 'memory' or a client of redis or ioredis")
  }
  assertRecord('throttle.limits', limits)
  const given = Object.entries(limits).filter(([, limit]) => limit !== undefined)
  const checked = given.map(([name, limit]) => [name, checkedLimit(`throttle.limits.${name}`, limit)])
  return {
    store,
    limits: {
      ...defaultLoginLimits,
      ...defaultQuotas,
      ...Object.fromEntries(checked),
    },
  }
}
