import { hashAtIssuer, randomId } from '../../keys/secrets.ts'
import { networkOf } from '../../limits/network.ts'
import type { AuthorizationServer } from '../../oauth/authorization-server.ts'
import type { HostLogin } from '../../options/login.ts'
import { HostError } from '../../protocol/problem.ts'
import { isEpochSeconds, isLoginTime } from '../../protocol/requests/login.ts'
import { callHost } from '../../users/host-function.ts'
import type { Context, PageContext } from '../http/context.ts'

/** Who is logged in at the host, by the option `login.current`. */
export const hostLogin = async ({ server, req }: Context): Promise<HostLogin | undefined> => {
  const { current } = server.options.login
  if (current === undefined) return undefined
  const login = (await callHost('login.current', () => current({ req }))) || undefined
  if (login?.authTime !== undefined && !isEpochSeconds(login.authTime)) {
    throw new HostError('login.current must return authTime in epoch seconds, or leave it out')
  }
  if (login?.authTime !== undefined && !isLoginTime(login.authTime, server.now())) {
    throw new HostError('login.current must not return an authTime in the future; is it a local time?')
  }
  if (login?.acr !== undefined && !server.options.acrValues.includes(login.acr)) {
    throw new HostError('login.current must return an acr that the option acrValues contains')
  }
  assertMethods(login?.amr, 'login.current')
  return login
}

/** Whether no login of the host means no login at all: the host has its own page, or learns of logins on ours. */
export const hostDecides = ({ options: { login } }: AuthorizationServer): boolean =>
  login.current !== undefined && (login.url !== undefined || login.remember !== undefined)

/** Lets the host end its own login, by the option `login.forget`. */
export const forgetHostLogin = async ({ server, req, res }: Context): Promise<void> => {
  await callHost('login.forget', () => server.options.login.forget?.({ req, res }))
}

/**
 * The mark that requests with one login of the host have in common: the session that the browser named, else all of
 * its cookies. Parallel first requests have no session yet. Without cookies, requests have nothing in common. Two devices can
 * have the same cookies, but then they differ in their network or in how the browser describes itself.
 */
export const hostLoginHash = (
  { server: { issuer }, session, req, info }: PageContext,
  { subject, authTime, acr }: Pick<HostLogin, 'subject' | 'authTime' | 'acr'>,
): string => {
  const { cookie = '' } = req.headers
  const id = session.id()
  const device = [cookie || randomId(), req.get('user-agent') ?? null, networkOf(info.address)]
  const browser = id !== undefined && cookie.includes(id) ? [id] : device
  const login = [...browser, String(subject), authTime ?? null, acr ?? null]
  return hashAtIssuer(issuer, JSON.stringify(login))
}

/**
 * Checks the authentication methods that a function of the host returned (RFC 8176 §1): ID tokens contain them, pages list
 * them, and they decide who may change how the user signs in.
 *
 * @param amr undefined if the host returned none
 * @param option named in the error
 * @throws TypeError unless they are undefined, or a list of at least one string
 * @example assertMethods(login.amr, 'login.current')
 */
export const assertMethods = (amr: unknown, option: string): void => {
  if (amr === undefined) return
  if (Array.isArray(amr) && amr.length > 0 && amr.every((method) => typeof method === 'string')) return
  throw new HostError(`${option} must return amr as a list of strings, or leave it out`)
}
