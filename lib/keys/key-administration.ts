import { setTimeout as delay } from 'node:timers/promises'
import type { Database } from '../storage/database/types.ts'
import { listSigningKeys } from '../storage/repositories/signing-keys.ts'
import { revokeKey } from './key-revocation.ts'
import type { KeyRing } from './key-ring.ts'
import { freshnessOf, type KeyState, withStates } from './key-schedule.ts'
import type { KeyOptions } from './signing-key.ts'

/** A signing key without its private part. Times are epoch seconds. */
export interface SigningKeyState {
  readonly keyId: string
  readonly algorithm: string
  readonly state: KeyState
  readonly publishedAt: number
  readonly signsFrom: number
  /** When it is no longer published; null while it may sign. */
  readonly publishedUntil: number | null
}

/** Manages the signing keys. */
export interface KeyAdministration {
  /** Returns all keys; those of an algorithm from oldest to newest. */
  list(): Promise<SigningKeyState[]>
  /**
   * Withdraws a key that may be compromised. This process neither uses nor accepts it from now on; the others read the
   * keys again within five seconds. The returned promise resolves after that time, so that no call that begins later
   * sees the key in any process.
   *
   * @param keyId the `kid` of the key
   * @param reason a short text for the event and the log, such as `'the backup was stolen'`
   * @returns false if there is no such key
   * @example await oauth.keys.revoke('3vXkQ…', 'the backup was stolen')
   */
  revoke(keyId: string, reason?: string): Promise<boolean>
}

/** Seconds after which every process has read the keys again: one more, because clocks show whole seconds. */
export const secondsUntilRead = (lifetimes: Parameters<typeof freshnessOf>[0]): number =>
  Math.ceil(freshnessOf(lifetimes).readAfter) + 1

/** Announces what became of keys. */
export interface KeyEvents {
  announce(
    type: 'key.revoked',
    info: undefined,
    key: { keyId: string; algorithm: string; reason?: string },
  ): void
  announce(type: 'key.published', info: undefined, key: PublishedKey): void
}

/** The part of the server that the administration needs. */
export interface KeyAdministrationContext {
  /** Aborted when the server closes. */
  readonly closing: AbortSignal
  readonly events: KeyEvents
  /** Resolves when the schema is ready. */
  ready(): Promise<{
    readonly database: Database
    readonly options: KeyOptions
    readonly keys: Pick<KeyRing, 'readAgain'>
    now(): number
  }>
}

type PublishedKey = Parameters<NonNullable<KeyOptions['keyPublished']>>[0]

/** The surroundings of {@link withdrawKey}. */
interface WithdrawalContext {
  readonly database: Database
  readonly options: KeyOptions
  readonly events: KeyEvents
  /** Epoch seconds. */
  now(): number
}

/** The options of key management that announce each new key. */
export const announcingKeys = <Given extends KeyOptions>(options: Given, events: KeyEvents): Given => ({
  ...options,
  keyPublished: (key: PublishedKey) => events.announce('key.published', undefined, key),
})

/**
 * Withdraws a key and announces it, and the key that takes its place.
 *
 * @returns the withdrawn key; undefined if there is no such key
 */
export const withdrawKey = async (
  { database, options, events, now }: WithdrawalContext,
  keyId: string,
  reason?: string,
): Promise<{ readonly algorithm: string } | undefined> => {
  const revoked = await revokeKey(database, announcingKeys(options, events), { kid: keyId, now: now() })
  if (revoked === undefined) return undefined
  const { algorithm } = revoked
  events.announce('key.revoked', undefined, { keyId, algorithm, reason })
  return revoked
}

export const keyAdministration = (setup: KeyAdministrationContext): KeyAdministration => ({
  list: async () => {
    const { database, now } = await setup.ready()
    const keys = withStates(await listSigningKeys(database), now())
    return keys.map(({ kid, algorithm, state, createdAt, activeAt, retiredAt }) => ({
      keyId: kid,
      algorithm,
      state,
      publishedAt: createdAt,
      signsFrom: activeAt,
      publishedUntil: retiredAt,
    }))
  },
  revoke: async (keyId, reason) => {
    const { database, options, keys, now } = await setup.ready()
    const { events } = setup
    const revoked = await withdrawKey({ database, options, events, now }, keyId, reason)
    if (revoked === undefined) return false
    await keys.readAgain()
    const { algorithm } = revoked
    const because = reason === undefined ? '' : `: ${reason}`
    options.logger.info(`latchkey: revoked the ${algorithm} signing key ${keyId}${because}`)
    // A process that closes need not wait for the others.
    const milliseconds = secondsUntilRead(options.lifetimes) * 1000
    await delay(milliseconds, undefined, { signal: setup.closing }).catch(() => {})
    return true
  },
})
