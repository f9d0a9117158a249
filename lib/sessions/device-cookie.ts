import type { Request, Response } from 'express'
import type { AuthorizationServer } from '../authorization-server.ts'
import { readCookie, setCookie } from '../http/cookies.ts'
import { authenticationCode, hashSecret, isEqual, randomId } from '../keys/secrets.ts'

/** Accounts that one browser is known by; the one that logged in longest ago goes first. */
const maxAccounts = 5
/** Seconds; a year. */
const lifetime = 31_536_000

/** What stands for a typed login name in counts and events: the same for every way to write it, and not readable. */
export const accountOf = (username: string): string =>
  hashSecret(username.normalize('NFKC').trim().toLowerCase())

const marksOf = (server: AuthorizationServer, req: Request): string[] => {
  const value = readCookie(server, req, 'known') ?? ''
  return value.split('~').filter((mark) => /^[\w-]{22}\.[\w-]{43}$/.test(mark))
}

const codeUnder = (secret: string, account: string, nonce: string): string =>
  authenticationCode(secret, 'known browser', [account, nonce])

const isMarkOf = (server: AuthorizationServer, account: string, mark: string): boolean => {
  const [nonce = '', code = ''] = mark.split('.')
  return server.options.secrets.some((secret) => isEqual(codeUnder(secret, account, nonce), code))
}

/**
 * Under which name this browser is known to an account that has logged in here before. Its failures are counted by
 * themselves, so that somebody who guesses elsewhere cannot keep the account's user out. The cookie gives no access.
 */
export const deviceOf = (server: AuthorizationServer, req: Request, account: string): string | undefined => {
  const mark = marksOf(server, req)
    .slice(0, maxAccounts)
    .find((each) => isMarkOf(server, account, each))
  return mark?.split('.')[0]
}

/** From now on this browser is known to this account. */
export const rememberDevice = (
  server: AuthorizationServer,
  req: Request,
  res: Response,
  account: string,
): void => {
  const marks = marksOf(server, req).slice(0, maxAccounts)
  const known = marks.find((mark) => isMarkOf(server, account, mark))
  const nonce = known?.split('.')[0] ?? randomId()
  const mark = `${nonce}.${codeUnder(server.options.secrets[0], account, nonce)}`
  const others = marks.filter((each) => each !== known).slice(0, maxAccounts - 1)
  setCookie(server, res, { purpose: 'known', value: [mark, ...others].join('~'), maxAge: lifetime })
}
