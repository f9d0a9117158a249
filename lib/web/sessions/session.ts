import type { Request } from 'express'
import { hashAtIssuer, isSecretOf } from '../../keys/secrets.ts'
import type { ServerSetup } from '../../oauth/authorization-server.ts'
import type { BrowserSession, Incoming } from '../http/context.ts'
import { readCookie, setCookie } from '../http/cookies.ts'
import {
  hasHostSession,
  heldByHost,
  hostSession,
  runSession,
  unavailable,
  warnOfMemory,
} from './host-session.ts'

// A session is a secret that the browser shows and whose SHA-256 is in the row of its login. Our own cookie holds it, or
// the session of the host.

/** Whether the pages use Latchkey's own cookie. */
export const isOwnSession = ({ options: { session } }: ServerSetup): boolean =>
  session === undefined || session === 'own'

type Asked = Pick<Incoming, 'req'> & { readonly server: ServerSetup }

/** The secret of our own cookie; undefined if it cannot be one. */
const ownSecret = ({ server, req }: Asked): string | undefined => {
  const value = readCookie(server, req, 'session')
  return value !== undefined && isSecretOf('session', value) ? value : undefined
}

const ownSession = ({ server, req, res }: Incoming): BrowserSession => {
  let secret = ownSecret({ server, req })
  return {
    id: () => secret,
    secretHash: () => (secret === undefined ? undefined : hashAtIssuer(server.issuer, secret)),
    renew: async () => ({}),
    begin: async (next) => {
      secret = next
      setCookie(server, res, { purpose: 'session', value: next })
    },
    end: async () => {
      if (secret === undefined) return
      secret = undefined
      setCookie(server, res, { purpose: 'session', value: '', maxAge: 0 })
    },
  }
}

/** For a request that must neither read nor start a session, such as a form of another site. */
export const noSession: BrowserSession = {
  id: () => undefined,
  secretHash: () => undefined,
  renew: () => Promise.reject(unavailable()),
  begin: () => Promise.reject(unavailable()),
  end: () => Promise.reject(unavailable()),
}

/** Opens the session of a page request, as the option `session` says. */
export const sessionOpener = (server: ServerSetup): ((incoming: Incoming) => Promise<BrowserSession>) => {
  const { session } = server.options
  if (isOwnSession(server)) {
    return async (incoming) => {
      if (session === undefined && hasHostSession(incoming.req)) {
        server.warnOnce(
          "the app has a session of its own, and Latchkey keeps its logins in another cookie; set session: 'host' to use the app's, or session: 'own' to keep them apart",
        )
      }
      return ownSession(incoming)
    }
  }
  const warnOnceOfMemory = warnOfMemory(server)
  return async (incoming) => {
    if (typeof session === 'function') await runSession(session, incoming)
    const opened = hostSession(incoming)
    warnOnceOfMemory(incoming.req)
    return opened
  }
}

/** SHA-256 of what the session of a browser holds, on a route of the host. */
export const sessionHashOf = (server: ServerSetup, req: Request): string | undefined => {
  const secret = isOwnSession(server) ? ownSecret({ server, req }) : heldByHost(server, req)
  return secret === undefined ? undefined : hashAtIssuer(server.issuer, secret)
}
