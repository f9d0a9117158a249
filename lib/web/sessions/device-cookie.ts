import { authenticationCode, isEqual, randomId } from '../../keys/secrets.ts'
import type { KnownDevice } from '../../limits/login-counters.ts'
import type { AuthorizationServer } from '../../oauth/authorization-server.ts'
import { maxLookupLength } from '../../users/users.ts'
import type { Incoming } from '../http/context.ts'
import { readCookie, setCookie } from '../http/cookies.ts'

/** The most marks in one cookie. The mark with the oldest login is dropped first. */
const maxMarks = 5
/** Seconds; a year. */
const lifetime = 31_536_000

/**
 * A login name without what databases ignore when they compare: case, accents, width and invisible characters. Otherwise
 * each spelling would have limits of its own. In upper case first, where ß is SS.
 */
const countedName = (username: string): string =>
  username
    .normalize('NFKD')
    .replace(/[\p{Mark}\p{Other}\p{Default_Ignorable_Code_Point}]/gu, '')
    .trim()
    .toUpperCase()
    .toLowerCase()

/**
 * Stands for a typed login name in counters and events: equal for every spelling, and not readable without a key of this
 * database. Only as much of a name is normalized as can be one.
 */
export const accountOf = (
  { pairwiseSalt }: Pick<AuthorizationServer, 'pairwiseSalt'>,
  username: string,
): string =>
  authenticationCode(pairwiseSalt, 'login name', [countedName(username.slice(0, maxLookupLength + 1))])

/** A login in this browser: the name exactly as it was typed, and whose it is. */
interface Mark {
  readonly id: string
  readonly nameCode: string
  readonly subjectCode: string
}

const textOf = ({ id, nameCode, subjectCode }: Mark): string => `${id}.${nameCode}.${subjectCode}`

const marksOf = ({ server, req }: Incoming): Mark[] =>
  (readCookie(server, req, 'known') ?? '')
    .split('~', maxMarks)
    .filter((mark) => /^[\w-]{22}\.[\w-]{43}\.[\w-]{43}$/.test(mark))
    .map((mark) => {
      const [id = '', nameCode = '', subjectCode = ''] = mark.split('.')
      return { id, nameCode, subjectCode }
    })

const nameCodeOf = (secret: string, id: string, username: string): string =>
  authenticationCode(secret, 'name in a known browser', [id, username])
const subjectCodeOf = (secret: string, id: string, subject: string): string =>
  authenticationCode(secret, 'user of a known browser', [id, subject])

const isOfName = ({ server }: Incoming, { id, nameCode }: Mark, username: string): boolean =>
  server.options.secrets.some((secret) => isEqual(nameCodeOf(secret, id, username), nameCode))
const isOfSubject = ({ server }: Incoming, { id, subjectCode }: Mark, subject: string): boolean =>
  server.options.secrets.some((secret) => isEqual(subjectCodeOf(secret, id, subject), subjectCode))

/**
 * This browser, if exactly this login name has been used in it before. Its failures are counted separately, so that
 * guesses from elsewhere cannot lock the user out. The cookie gives no access.
 */
export const deviceOf = (context: Incoming, username: string): KnownDevice | undefined => {
  const mark = marksOf(context).find((each) => isOfName(context, each, username))
  return mark && { id: mark.id, isOf: (subject) => isOfSubject(context, mark, subject) }
}

/** Remembers in the cookie that this user has logged in in this browser, under this name. */
export const rememberDevice = (context: Incoming, username: string, subject: string): void => {
  const { server, res } = context
  const marks = marksOf(context)
  const named = marks.find((mark) => isOfName(context, mark, username))
  const id = named && isOfSubject(context, named, subject) ? named.id : randomId()
  const [secret] = server.options.secrets
  const mark = {
    id,
    nameCode: nameCodeOf(secret, id, username),
    subjectCode: subjectCodeOf(secret, id, subject),
  }
  const others = marks.filter((each) => each !== named).slice(0, maxMarks - 1)
  const value = [mark, ...others].map(textOf).join('~')
  setCookie(server, res, { purpose: 'known', value, maxAge: lifetime })
}
