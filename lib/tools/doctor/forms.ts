import { inspect } from 'node:util'
import { type AppAnswer, type Check, error, type Found, type MountedSubject, warning } from '../check.ts'
import { isOurError } from './mount.ts'
import { issuerThere, mountPathOf } from './requests.ts'

/** Characters of a value, and how many values: 45 kB, less than a client assertion and a request object may have. */
const [valueLength, values] = [1500, 30]

const largeForm = Array.from(
  { length: values },
  (_, index) => [`doctor_${index}`, 'x'.repeat(valueLength)] as const,
)

/** A form that is refused for its client, if it arrives. */
const ofStranger = [
  ['grant_type', 'doctor'],
  ['client_id', 'latchkey-doctor'],
] as const

/** Characters that sanitizers escape, strip, trim or normalize: the last letter is an `e` and an accent. */
const delicate = ' a&<b>"\'$.%+/\\e\u0301 '

/** Who refused a form in the place of Latchkey; undefined if Latchkey answered. */
const formRefusal = (answer: AppAnswer, before: string): Found => {
  if (isOurError(answer)) {
    return (
      answer.json?.error !== 'invalid_client' &&
      error(
        'a form of a client arrives empty: middleware has read the body and left nothing',
        `${before} that middleware`,
      )
    )
  }
  if (answer.status === 403) {
    return error(
      'a form of a client is answered 403 by other middleware, probably CSRF protection',
      `${before} it`,
    )
  }
  if (answer.status === 401 || (answer.status >= 300 && answer.status < 400)) {
    return error(
      `a form of a client is answered ${answer.status} by other middleware, which asks for a login`,
      `${before} it`,
    )
  }
  if (answer.status >= 500) {
    return error(
      `a form of a client is answered ${answer.status} by other middleware, such as a parser of a body that was read before`,
      `${before} all middleware that reads bodies; the log of the app has the error`,
    )
  }
  return error(
    `a form of a client is answered ${answer.status} by other middleware, such as a parser of JSON`,
    `${before} app.use(express.json(…))`,
  )
}

const formFindings = async (subject: MountedSubject): Promise<Found> => {
  const { mount } = subject
  if (issuerThere(subject) === undefined) return undefined
  const before = `move app.use('${mountPathOf(subject)}', oauth) before`
  const refusal = formRefusal(await mount.post('/token', ofStranger), before)
  if (refusal) return refusal
  const large = await mount.post('/token', largeForm)
  if (!isOurError(large)) {
    return error(
      `a form of 45 kB is answered ${large.status} by a body parser with a smaller limit`,
      `${before} the parser, or raise its limit: express.urlencoded({ limit: '64kb' })`,
    )
  }
  const received = await mount.echo(delicate)
  return (
    received !== undefined &&
    received !== delicate &&
    warning(
      `middleware changes what users type: ${inspect(delicate)} arrives as ${inspect(received)}, and a password with such a character is another one`,
      `mount Latchkey where your own sign-in form arrives: if that reads passwords unchanged, ${before} that middleware`,
    )
  )
}

/** Checks of forms that are sent to the running server. */
export const formChecks: readonly Check<MountedSubject>[] = [
  { id: 'forms', title: 'forms reach the server, unchanged', run: formFindings },
]
