import supertest from 'supertest'
import type { ClientSeed } from '../../lib/index.ts'
import { type Host, secret } from './host.ts'
import type { Answer, RawBrowser } from './raw-browser.ts'
import { ada, type Fields, type Person, post } from './tokens.ts'

export const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code'

/** A public client on a device, and a confidential one. */
export const deviceClients: ClientSeed[] = [
  {
    client_id: 'tv',
    client_name: 'Television',
    token_endpoint_auth_method: 'none',
    grant_types: [deviceGrant, 'refresh_token'],
    scope: 'openid profile email offline_access notes:read',
  },
  {
    client_id: 'box',
    client_name: 'Box',
    client_secret: secret,
    grant_types: [deviceGrant, 'refresh_token'],
    scope: 'openid profile notes:read notes:write',
  },
]

/** What `/device_authorization` answers. */
interface DeviceAnswer {
  device_code: string
  user_code: string
  verification_uri: string
  verification_uri_complete: string
  expires_in: number
  interval: number
}

/** A device of the client `tv` asks for its codes, unless fields say otherwise. */
export const askForCodes = (host: Pick<Host, 'app'>, fields: Fields = {}): supertest.Test =>
  supertest(host.app)
    .post('/oauth/device_authorization')
    .type('form')
    .send({ client_id: 'tv', scope: 'openid notes:read', ...fields })

export const codesFor = async (host: Pick<Host, 'app'>, fields: Fields = {}): Promise<DeviceAnswer> => {
  const { status, body, text } = await askForCodes(host, fields)
  if (status !== 200) throw new Error(`expected codes, got ${status}: ${text}`)
  return body
}

/** One poll of the device. */
export const poll = (
  host: Pick<Host, 'app'>,
  { device_code }: Pick<DeviceAnswer, 'device_code'>,
  fields: Fields = {},
): supertest.Test => post(host, { grant_type: deviceGrant, client_id: 'tv', device_code, ...fields })

/** The user types the code. */
export const typeCode = async (agent: RawBrowser, userCode: string): Promise<Answer> =>
  agent.submit(await agent.open('/oauth/device'), 'name="user_code"', { user_code: userCode })

/** The user types the code and signs in, up to the question whether the device is theirs. */
export const openCode = async (agent: RawBrowser, userCode: string, as: Person = ada): Promise<Answer> => {
  const page = await typeCode(agent, userCode)
  return page.url.pathname === '/oauth/login' ? agent.signIn(page, as.email, as.password) : page
}

/** The user does all that is asked to allow the device. */
export const connect = async (agent: RawBrowser, userCode: string, as: Person = ada): Promise<Answer> => {
  const page = await agent.decide(await openCode(agent, userCode, as), 'allow')
  return page.url.pathname === '/oauth/consent' ? agent.decide(page, 'allow') : page
}
