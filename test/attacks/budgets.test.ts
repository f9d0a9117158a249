import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import supertest from 'supertest'
import { clientMetadataDocuments, device, pushedRequests, registration } from '../../lib/features/index.ts'
import { openServer, type TestServer } from '../support/client-server.ts'
import { codesFor, deviceClients, typeCode } from '../support/device.ts'
import { authorizeUrl, callback, clients, type Host, pkce, secret, startHost } from '../support/host.ts'
import { type Answer, RawBrowser } from '../support/raw-browser.ts'
import { ada, bob } from '../support/tokens.ts'

// A client or a user that uses up a limit takes nothing from the others.

const addresses = { attacker: '203.0.113.1', other: '198.51.100.1' }

let host: Host
let server: TestServer
beforeAll(async () => {
  server = await openServer()
  server.serve((req, res) => {
    const client_id = `${server.origin}${req.url}`
    const document = { client_id, client_name: 'Any', redirect_uris: [callback] }
    res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document))
  })
})
afterAll(() => server.close())
afterEach(() => host.close())

const from = (address: string) => ({ 'X-Forwarded-For': address })
const browser = (address: string) => new RawBrowser(host.app, undefined, from(address))
const proof = { code_challenge: pkce().challenge, code_challenge_method: 'S256' }
const asked = (client_id = 'native') => authorizeUrl({ client_id, ...proof })

interface Acted {
  readonly status: number
  /** Of a browser. */
  readonly url?: URL
}

/** One act from an address, with a number that no other act has. It answers 429 if it is refused. */
type Act = (address: string, number: number) => PromiseLike<Acted>

interface Budget {
  /** Whose it is: no one else may spend it. */
  readonly of: string
  readonly spend: Act
  /** What all others do. @default the same act, at another address */
  readonly others?: Act
}

const posting =
  (path: string, form: object): Act =>
  (address) =>
    supertest(host.app).post(`/oauth${path}`).set(from(address)).type('form').send(form)
const signIn = async (address: string, username: string, password: string): Promise<Answer> => {
  const agent = browser(address)
  return agent.signIn(await agent.open(asked()), username, password)
}
const rightPassword: Act = (address) => signIn(address, ada.email, ada.password)
const wrongPassword: Act = (address, number) => signIn(address, `nobody-${number}`, 'wrong')
const authenticating = (path: string, client_id: string, client_secret: string): Act =>
  posting(path, { client_id, client_secret, token: 'x', grant_type: 'client_credentials' })
const secretAt = (path: string, client = 'web'): Budget => ({
  of: 'the client, at the network',
  spend: authenticating(path, client, 'wrong'),
  others: authenticating(path, client, secret),
})
const register: Act = (address, number) =>
  supertest(host.app)
    .post('/oauth/register')
    .set(from(address))
    .send({ client_name: `Client ${number}`, redirect_uris: [callback] })
const wrongToken: Act = (address) =>
  supertest(host.app)
    .get('/oauth/register/none')
    .set({ ...from(address), Authorization: `Bearer ${'x'.repeat(43)}` })
const document: Act = (address, number) =>
  browser(address).open(asked(`${server.origin}/${address}-${number}.json`))
const wrongCode: Act = (address) => typeCode(browser(address), 'BBBB-BBBB')
const rightCode: Act = async (address) => typeCode(browser(address), (await codesFor(host)).user_code)
const userinfo: Act = (address) =>
  supertest(host.app)
    .get('/oauth/userinfo')
    .set({ ...from(address), Authorization: 'Bearer wrong' })

const network = 'the network'

/** Every budget that a stranger can spend. */
const budgets: Readonly<Record<string, Budget>> = {
  'failures.loginAccountAddress': {
    of: 'the account, at the network',
    spend: (address) => signIn(address, ada.email, 'wrong'),
    others: rightPassword,
  },
  'failures.loginAddress': { of: network, spend: wrongPassword, others: rightPassword },
  'failures.loginNetwork': {
    of: 'the site',
    spend: (_, number) => wrongPassword(`2001:db8:1:${number}::1`, number),
    others: () => rightPassword('2001:db8:2::1', 0),
  },
  'failures.loginAccount': {
    of: 'the account',
    spend: (address) => signIn(address, ada.email, 'wrong'),
    others: (address) => signIn(address, bob.email, 'wrong'),
  },
  'failures.token': secretAt('/token'),
  'failures.introspect': secretAt('/introspect'),
  'failures.revoke': secretAt('/revoke'),
  'failures.userinfo': { of: network, spend: userinfo },
  'device.userCodeAddress': { of: network, spend: wrongCode, others: rightCode },
  'device.userCodeNetwork': {
    of: 'the site',
    spend: (_, number) => wrongCode(`2001:db8:1:${number}::1`, number),
    others: () => rightCode('2001:db8:2::1', 0),
  },
  'device.userCodeTotal': { of: 'all who are not signed in', spend: wrongCode, others: rightCode },
  'device.deviceAuthorization': secretAt('/device_authorization', 'box'),
  'pushedRequests.par': secretAt('/par'),
  'registration.register': { of: network, spend: wrongToken },
  'quotas.clientHost': { of: 'the host, at the network', spend: document },
  'quotas.newBrowser': { of: network, spend: (address) => browser(address).open(asked()) },
  'device.deviceCode': {
    of: network,
    spend: posting('/device_authorization', { client_id: 'tv', scope: 'openid' }),
  },
  'pushedRequests.pushedRequest': {
    of: network,
    spend: posting('/par', {
      response_type: 'code',
      client_id: 'native',
      redirect_uri: callback,
      scope: 'openid',
      ...proof,
    }),
  },
  'registration.registration': { of: network, spend: register },
  'registration.registrationDaily': { of: network, spend: register },
  'clientMetadataDocuments.document': { of: network, spend: document },
}

/** Only someone with an account spends them, and each has their own. */
const ofUsers = [
  'device.userCodeUser',
  'quotas.refresh',
  'authenticatorApps.secondFactorSend',
  'secondFactor.secondFactorSend',
  'developers.developerClient',
  'organizationApps.organizationRequest',
  'serviceAccounts.serviceAccount',
]

/** `failures.token` of the core, and `device.userCodeTotal` of a feature. */
const documented = (): string[] => {
  const docs: readonly { readonly path: string }[] = JSON.parse(
    readFileSync(join(__dirname, '../../docs/options.json'), 'utf8'),
  )
  return docs.flatMap(({ path }) => {
    const [, own] = /^limits\.((?:failures|quotas)\.\w+)$/.exec(path) ?? []
    return own ?? /^\w+\(\{ limits \}\)\.\w+$/.exec(path)?.[0].replace('({ limits })', '') ?? []
  })
}

/** The limits of one kind, or of a feature: all are off but the one with this name. */
const limitsOf = (kind: string, only: string) =>
  Object.fromEntries(
    documented()
      .map((name) => name.split('.'))
      .filter(([each]) => each === kind)
      .map(([, name]) => [name, `${kind}.${name}` === only && { max: 2, seconds: 3600 }]),
  )

const start = async (budget: string): Promise<void> => {
  host = await startHost({
    clients: [...clients, ...deviceClients],
    options: {
      outbound: { allowSelfDescribed: [server.origin] },
      limits: { failures: limitsOf('failures', budget), quotas: limitsOf('quotas', budget) },
      features: [
        clientMetadataDocuments({ limits: limitsOf('clientMetadataDocuments', budget) }),
        device({ limits: limitsOf('device', budget) }),
        pushedRequests({ limits: limitsOf('pushedRequests', budget) }),
        registration({ limits: limitsOf('registration', budget) }),
      ],
    },
  })
  host.app.set('trust proxy', 1)
}

test('every limit is in one of the two lists', async () => {
  await start('')
  expect([...Object.keys(budgets), ...ofUsers].sort()).toEqual(documented().sort())
})

/** Beyond its limit an act is refused, or asks for a sign-in first. */
const isRefused = ({ status, url }: Acted): boolean =>
  status === 429 || url?.searchParams.has('sign_in') === true

test.each(Object.entries(budgets))(
  '%s, spent from one address, leaves others theirs',
  async (name, budget) => {
    await start(name)
    const { of, spend, others = spend } = budget
    const spent: boolean[] = []
    for (let number = 1; number <= 5; number += 1)
      spent.push(isRefused(await spend(addresses.attacker, number)))
    expect([of, spent]).toEqual([of, [false, false, true, true, true]])
    const { status } = await others(addresses.other, 6)
    expect([of, status === 429]).toEqual([of, false])
  },
)
