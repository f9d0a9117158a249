import supertest from 'supertest'
import { authorizeUrl, type Host } from './host.ts'
import { codeOf } from './outcomes.ts'
import { RawBrowser } from './raw-browser.ts'
import {
  answerOf,
  guarded,
  introspect,
  post,
  redeem,
  refresh,
  type TokenAnswer,
  userinfo,
  web,
} from './tokens.ts'

/** What a client or an API asks for, again and again; how often it goes to the database does not depend on the machine. */
export interface CountedOperation {
  /** Made before the count begins. */
  readonly before: () => Promise<TokenAnswer>
  readonly run: (tokens: TokenAnswer) => PromiseLike<unknown>
}

export const operationNames = [
  'client_credentials',
  'authorize and token, signed in and allowed before',
  'the same with offline_access',
  'refresh',
  'UserInfo',
  'introspection',
  'a guarded route',
  'discovery',
  'the key set',
] as const
export type OperationName = (typeof operationNames)[number]

/** The operations at this host, for a browser that is signed in and has allowed everything before. */
export const operationsAt = async (host: Host): Promise<Record<OperationName, CountedOperation>> => {
  const browser = new RawBrowser(host.app)
  for (const scope of ['openid profile email', 'openid offline_access', 'openid profile email notes:read'])
    codeOf(await browser.grant(authorizeUrl({ client_id: 'web', scope, prompt: 'consent' })))
  const codeFlow = async (scope: string): Promise<TokenAnswer> =>
    answerOf(redeem(host, codeOf(await browser.get(authorizeUrl({ client_id: 'web', scope })))))
  const online = (): Promise<TokenAnswer> => codeFlow('openid profile email')
  const offline = (): Promise<TokenAnswer> => codeFlow('openid offline_access')
  const nothing = async (): Promise<TokenAnswer> => ({}) as TokenAnswer
  const get = (path: string) => () => supertest(host.app).get(path).expect(200)
  return {
    client_credentials: {
      before: nothing,
      run: () => post(host, { ...web, grant_type: 'client_credentials' }).expect(200),
    },
    'authorize and token, signed in and allowed before': { before: nothing, run: online },
    'the same with offline_access': { before: nothing, run: offline },
    refresh: { before: offline, run: ({ refresh_token }) => refresh(host, refresh_token).expect(200) },
    UserInfo: { before: online, run: ({ access_token }) => userinfo(host, access_token).expect(200) },
    introspection: {
      before: online,
      run: ({ access_token }) => introspect(host, access_token).expect(/"active":true/),
    },
    'a guarded route': {
      before: () => codeFlow('openid profile email notes:read'),
      run: ({ access_token }) => guarded(host, access_token).expect(200),
    },
    discovery: { before: nothing, run: get('/oauth/.well-known/openid-configuration') },
    'the key set': { before: nothing, run: get('/oauth/jwks') },
  }
}
