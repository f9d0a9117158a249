import { refuse } from '../../options/check.ts'
import { featureNamed } from '../../options/features.ts'
import type { Options } from '../../options/options.ts'
import {
  type Checked,
  type CheckedMembers,
  custom,
  list,
  object,
  record,
  required,
  text,
} from '../../options/schema.ts'
import { isLoopbackHost } from '../../protocol/clients/redirect-uri.ts'
import { isPattern } from './rules.ts'

/** The secrets of Standard Webhooks have so many bytes. */
const secretBytes = { min: 24, max: 64 }

const isSecret = (value: string): boolean => {
  const [, encoded] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(value) ?? []
  if (encoded === undefined || encoded.length % 4 !== 0) return false
  const { length } = Buffer.from(encoded, 'base64')
  return length >= secretBytes.min && length <= secretBytes.max
}

const webhookUrl = custom<string>('an absolute URL without credentials and fragment', (value) => {
  if (typeof value !== 'string' || !URL.canParse(value)) return undefined
  const { protocol, username, password, hash } = new URL(value)
  const isHttp = protocol === 'https:' || protocol === 'http:'
  return isHttp && username === '' && password === '' && hash === '' ? value : undefined
})

const endpoint = object({
  /**
   * Where events are sent. It may have a private address, except behind `outbound.proxy`. It needs https, unless it is a
   * loopback address or its origin is in `outbound.allow`; these are reached without the proxy.
   */
  url: required(webhookUrl),
  /** The secrets that sign each message, newest first: docs/webhooks.md#secrets. */
  secrets: required(
    list(
      text(
        'whsec_ and 24 to 64 bytes in Base64; generate one with `echo whsec_$(openssl rand -base64 32)`',
        isSecret,
      ),
      { what: 'a list of secrets, newest first', min: 1 },
    ),
  ),
  /** The types of events that it gets: one (`login.failed`), all that begin with a word (`login.*`), or all (`*`). */
  events: required(
    list(text("a type of event, such as 'login.failed', 'login.*' or '*'", isPattern), {
      what: 'a list of types of events',
      min: 1,
    }),
  ),
})

/** A receiver of webhooks. */
export type WebhookEndpoint = Checked<typeof endpoint>

const endpointName = (name: string, path: string): string =>
  /^[a-z0-9][a-z0-9_-]{0,31}$/.test(name)
    ? name
    : refuse(`${path} has the name '${name}': a name has at most 32 characters of a–z, 0–9, _ and -`)

/** Sends stored events to other servers: docs/webhooks.md. It requires `storedEvents` and the package `standardwebhooks`. */
export const members = {
  /** The receivers, by names that you choose. A name stays when the URL changes. */
  endpoints: required(record(endpoint, endpointName)),
}

/** The receivers by name. */
export type WebhookEndpoints = Readonly<Record<string, WebhookEndpoint>>

/**
 * The receivers of webhooks.
 *
 * @throws OptionsError without receivers, without stored events, and for a URL that needs https
 */
export const webhookReceivers = (
  { endpoints }: CheckedMembers<typeof members>,
  options: Options,
): WebhookEndpoints => {
  const where = 'webhooks({ endpoints })'
  if (!options.storedEvents) refuse('webhooks() needs storedEvents: true')
  if (Object.keys(endpoints).length === 0) refuse(`${where} must name an endpoint`)
  for (const [name, { url }] of Object.entries(endpoints)) {
    const { protocol, hostname, origin } = new URL(url)
    if (protocol === 'http:' && !isLoopbackHost(hostname) && !options.outbound.allow.includes(origin))
      refuse(`${where}['${name}'].url must use https, or its origin must be in outbound.allow`)
  }
  return endpoints
}

/** The receivers in the options; none after `webhooks.off()`. */
export const endpointsIn = (options: Options): WebhookEndpoints => {
  const given = featureNamed(options, 'webhooks')?.option as CheckedMembers<typeof members> | undefined
  return given?.endpoints ?? {}
}
