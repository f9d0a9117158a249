import { openJwk, sealJwk } from '../../keys/sealed-jwk.ts'
import { hashSecret, randomString } from '../../keys/secrets.ts'
import { createTotpSecret, verifyTotp } from '../../keys/totp.ts'
import type { AuthorizationServer } from '../../oauth/authorization-server.ts'
import type { Context } from '../../web/http/context.ts'
import type { AuthenticatorOption, SecondFactor } from './option.ts'
import {
  confirmSecondFactor,
  consumeRecoveryCode,
  countRecoveryCodes,
  createSecondFactor,
  findSecondFactorRecord,
  replaceRecoveryCodes,
  replaceSecondFactor,
  resealSecondFactor,
  type SecondFactorRecord,
  setNextSecret,
  useTimeStep,
} from './second-factors-table.ts'

// The second factors that Latchkey keeps (`authenticatorApps()`).

/** Seconds that a user has to confirm a new second factor. */
const enrolmentLifetime = 3600

const recoveryCodes = 10
const letters = 'abcdefghijklmnopqrstuvwxyz234567'
/** Sixteen letters have 80 bits, so that a plain hash is enough. */
const recoveryCodeLength = 16

const createRecoveryCode = (): string => randomString(letters, recoveryCodeLength)

const recoveryCodeHash = (subject: string, code: string): string =>
  hashSecret(JSON.stringify(['recovery code', subject, code]))

/** Groups of four, as people read them. */
const inGroups = (text: string, separator: string): string => (text.match(/.{1,4}/g) ?? []).join(separator)

/** A base32 secret as people type it. */
export const readableSecret = (secret: string): string => inGroups(secret, ' ')

/** A TOTP secret, and the login that saw it before it was confirmed. */
interface TotpSecret {
  readonly secret: string
  readonly sid: string | undefined
}

const seal = (key: string, { secret, sid }: TotpSecret): string =>
  sealJwk(key, { kty: 'oct', k: secret, ...(sid !== undefined && { kid: sid }) })

/** An encrypted secret; undefined if none of the option `secrets` decrypts it. */
const unseal = (
  { options }: AuthorizationServer,
  sealed: string,
): (TotpSecret & { readonly stale: boolean }) | undefined => {
  const opened = openJwk(options.secrets, sealed)
  const { k: secret, kid }: Readonly<Record<string, unknown>> = { ...opened?.jwk }
  if (opened === undefined || typeof secret !== 'string') return undefined
  return { secret, sid: typeof kid === 'string' ? kid : undefined, stale: opened.stale }
}

/** The TOTP secret; undefined, with a line in the log, if none of the option `secrets` decrypts it. */
const openSecret = async (
  server: AuthorizationServer,
  { subject, secret: sealed }: SecondFactorRecord,
): Promise<TotpSecret | undefined> => {
  const { options, database } = server
  const found = unseal(server, sealed)
  if (found === undefined) {
    options.logger.error(
      `latchkey: none of the option secrets decrypts the second factor of user ${JSON.stringify(subject)}; add the secret that it was encrypted with to the end of the list`,
    )
    return undefined
  }
  if (found.stale) {
    await resealSecondFactor(database, { subject, from: sealed, to: seal(options.secrets[0], found) })
  }
  return found
}

const isRightTotp = async (
  server: AuthorizationServer,
  record: SecondFactorRecord,
  code: string,
): Promise<boolean> => {
  const found = await openSecret(server, record)
  if (found === undefined) return false
  const step = verifyTotp(found.secret, code, { now: server.now(), after: record.lastStep ?? undefined })
  const { subject } = record
  return step !== undefined && useTimeStep(server.database, { subject, step })
}

/** Uses a recovery code, and announces how many are left. */
const useRecoveryCode = async (
  { server, info }: Context,
  { subject }: SecondFactorRecord,
  code: string,
): Promise<boolean> => {
  const { database, events } = server
  const typed = code.replaceAll('-', '').toLowerCase()
  const hash = recoveryCodeHash(subject, typed)
  if (!(await consumeRecoveryCode(database, { hash, subject }))) return false
  const left = await countRecoveryCodes(database, { subject })
  events.announce('second_factor.recovery_code_used', info, { subject, left })
  return true
}

/** The second factor that a user has confirmed here, if any. */
export const storedSecondFactor = async (
  context: Context,
  { acr }: AuthenticatorOption,
  { subject }: { subject: string },
): Promise<SecondFactor | undefined> => {
  const record = await findSecondFactorRecord(context.server.database, { subject })
  return record?.expiresAt === null ? factorOf(context, { acr }, record) : undefined
}

/** A second factor that its user has confirmed. */
export const factorOf = (
  context: Context,
  { acr }: AuthenticatorOption,
  record: SecondFactorRecord,
): SecondFactor => ({
  kind: 'code',
  recoveryCodes: true,
  acr,
  verify: (code) =>
    /^\d{6}$/.test(code) ? isRightTotp(context.server, record, code) : useRecoveryCode(context, record, code),
})

/** A second factor that a user is about to confirm. */
export interface Enrolment {
  readonly subject: string
  /** As it is stored. */
  readonly sealed: string
  /** In base32. */
  readonly secret: string
  /** The login that sets it up. */
  readonly sid: string
}

/**
 * The second factor that a user is about to confirm: the same one for this login until they do, or until it expires. Each
 * login has its own: otherwise someone who once knew the password could know the secret that the user confirms later.
 */
export const openEnrolment = async (
  server: AuthorizationServer,
  { subject, sid }: { subject: string; sid: string },
): Promise<Enrolment | undefined> => {
  const { database, options } = server
  const now = server.now()
  const ownOf = async (record: SecondFactorRecord | undefined): Promise<Enrolment | undefined> => {
    if (record?.expiresAt == null || record.expiresAt <= now) return undefined
    const found = await openSecret(server, record)
    return found?.sid === sid ? { subject, sealed: record.secret, secret: found.secret, sid } : undefined
  }
  const found = await findSecondFactorRecord(database, { subject })
  if (found && found.expiresAt === null) return undefined
  const own = await ownOf(found)
  if (own) return own
  const secret = await seal(options.secrets[0], { secret: createTotpSecret(), sid })
  const expiresAt = now + enrolmentLifetime
  await createSecondFactor(database, { subject, secret, replaced: found?.secret ?? '', now, expiresAt })
  return ownOf(await findSecondFactorRecord(database, { subject }))
}

/**
 * The secret of another app that a user is about to confirm, for the login that began it.
 *
 * @param record of the second factor that is on
 */
export const openReplacement = (
  server: AuthorizationServer,
  { subject, nextSecret, nextExpiresAt }: SecondFactorRecord,
  sid: string,
): Enrolment | undefined => {
  if (nextSecret === null || nextExpiresAt === null || nextExpiresAt <= server.now()) return undefined
  const found = unseal(server, nextSecret)
  return found?.sid === sid ? { subject, sealed: nextSecret, secret: found.secret, sid } : undefined
}

/** Begins to replace the app of a second factor, which works until the first code of the other app. */
export const beginReplacement = (
  { database, options, now }: AuthorizationServer,
  { subject, sid }: { subject: string; sid: string },
): Promise<boolean> => {
  const next = seal(options.secrets[0], { secret: createTotpSecret(), sid })
  return setNextSecret(database, { subject, next, expiresAt: now() + enrolmentLifetime })
}

/** Confirms the other app with a code of it. @returns false if the code is wrong or the secret has expired */
export const confirmReplacement = async (
  { database, now }: AuthorizationServer,
  { subject, sealed, secret, sid }: Enrolment,
  code: string,
): Promise<boolean> => {
  const step = verifyTotp(secret, code, { now: now() })
  return step !== undefined && replaceSecondFactor(database, { subject, sid, next: sealed, step, now: now() })
}

/** New recovery codes, and their hashes. */
const newRecoveryCodes = (
  subject: string,
): { readonly codes: readonly string[]; readonly hashes: readonly string[] } => {
  const codes = Array.from({ length: recoveryCodes }, createRecoveryCode)
  return {
    codes: codes.map((code) => inGroups(code, '-')),
    hashes: codes.map((code) => recoveryCodeHash(subject, code)),
  }
}

/**
 * Gives a user new recovery codes; the old ones no longer work.
 *
 * @param record of the second factor whose code allowed it
 * @param sid of the login that asks
 * @returns undefined if that factor or the login has ended meanwhile
 */
export const renewRecoveryCodes = async (
  { database, now }: AuthorizationServer,
  { subject, createdAt }: SecondFactorRecord,
  sid: string,
): Promise<readonly string[] | undefined> => {
  const { codes, hashes } = newRecoveryCodes(subject)
  const isDone = await replaceRecoveryCodes(database, { subject, sid, createdAt, hashes, now: now() })
  return isDone ? codes : undefined
}

/**
 * Confirms a second factor with a code of it.
 *
 * @returns the recovery codes, which are stored as hashes only; undefined if the code is wrong or the second factor has expired
 */
export const confirmEnrolment = async (
  { database, now }: AuthorizationServer,
  { subject, sealed, secret, sid }: Enrolment,
  code: string,
): Promise<readonly string[] | undefined> => {
  const step = verifyTotp(secret, code, { now: now() })
  if (step === undefined) return undefined
  const { codes, hashes } = newRecoveryCodes(subject)
  const values = { subject, sid, secret: sealed, step, now: now(), hashes }
  return (await confirmSecondFactor(database, values)) ? codes : undefined
}
