import type { Incoming } from '../http/context.ts'
import { readCookie, setCookie } from '../http/cookies.ts'
import { authenticationCode, hashSecret, isEqual, randomId } from '../keys/secrets.ts'

/** Accounts in one cookie; the one whose login is the longest ago is dropped first. */
const maxAccounts = 5
/** Seconds; a year. */
const lifetime = 31_536_000

/** Stands for a typed username in counters and events: equal for every spelling, and not readable. */
export const accountOf = (username: string): string =>
  hashSecret(username.normalize('NFKC').trim().toLowerCase())

const marksOf = ({ server, req }: Incoming): string[] => {
  const value = readCookie(server, req, 'known') ?? ''
  return value
    .split('~')
    .filter((mark) => /^[\w-]{22}\.[\w-]{43}$/.test(mark))
    .slice(0, maxAccounts)
}

const codeUnder = (secret: string, account: string, nonce: string): string =>
  authenticationCode(secret, 'known browser', [account, nonce])

const isMarkOf = ({ server }: Incoming, account: string, mark: string): boolean => {
  const [nonce = '', code = ''] = mark.split('.')
  return server.options.secrets.some((secret) => isEqual(codeUnder(secret, account, nonce), code))
}

/**
 * The device id of a browser in which this account has logged in before. Its failures are counted separately, so that
 * guesses from elsewhere cannot lock the user out. The cookie gives no access.
 */
export const deviceOf = (context: Incoming, account: string): string | undefined =>
  marksOf(context)
    .find((mark) => isMarkOf(context, account, mark))
    ?.split('.')[0]

/** Remembers in the cookie that this account has logged in in this browser. */
export const rememberDevice = (context: Incoming, account: string): void => {
  const { server, res } = context
  const marks = marksOf(context)
  const known = marks.find((mark) => isMarkOf(context, account, mark))
  const nonce = known?.split('.')[0] ?? randomId()
  const mark = `${nonce}.${codeUnder(server.options.secrets[0], account, nonce)}`
  const others = marks.filter((each) => each !== known).slice(0, maxAccounts - 1)
  setCookie(server, res, { purpose: 'known', value: [mark, ...others].join('~'), maxAge: lifetime })
}
