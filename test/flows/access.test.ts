import type supertest from 'supertest'
import {
  defineFeature,
  device,
  personalAccessTokens,
  secondFactor,
  trustedIssuers,
} from '../../lib/features/index.ts'
import { type AuthEvent, type AuthRouterOptions, type ClientSeed, defineGrant } from '../../lib/index.ts'
import type { AccessRule } from '../../lib/oauth/tokens/access-rules.ts'
import type { AccessRequest } from '../../lib/options/access.ts'
import { tokenExchangeGrantType, tokenTypes } from '../../lib/protocol/tokens/token-exchange.ts'
import { codesFor, connect, deviceClients, openCode, poll } from '../support/device.ts'
import { authorizeUrl, callback, type Host, pkce, secret, startHost } from '../support/host.ts'
import { type Answer, RawBrowser, textOf } from '../support/raw-browser.ts'
import { assertion, type ClientKey, createClientKey } from '../support/signing-client.ts'
import { bob, codeFor, expectError, post, redeem, refresh, tokensFor, web } from '../support/tokens.ts'

const idp = 'https://idp.example.com'
const assertionGrant = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const pinGrant = 'urn:example:grant-type:pin'
const tables = ['authorizations', 'access_tokens', 'refresh_tokens', 'personal_tokens', 'consents'] as const

let host: Host
let key: ClientKey
let allow: NonNullable<AuthRouterOptions['access']>['allow'] = () => true
const asked: AccessRequest[] = []
/** The rule of a feature, which is asked before the host. */
let judge: AccessRule['judge'] = async () => undefined
const ruling = defineFeature(
  { name: 'ruling' },
  {
    name: 'ruling',
    members: {},
    activate: () => ({ oauth: { accessRules: [{ judge: (...about) => judge(...about) }] } }),
  },
)
const denied: AuthEvent<'access.denied'>[] = []

const webClient: ClientSeed = {
  client_id: 'web',
  client_name: 'Web client',
  client_secret: secret,
  redirect_uris: [callback],
  grant_types: [
    'authorization_code',
    'refresh_token',
    'implicit',
    tokenExchangeGrantType,
    assertionGrant,
    pinGrant,
  ] as never,
  response_types: ['code', 'code id_token token'],
  scope: 'openid profile offline_access notes:read notes:write',
}

beforeAll(async () => {
  key = await createClientKey('ES256', 'one')
  host = await startHost({
    clients: [
      webClient,
      {
        client_id: 'native',
        token_endpoint_auth_method: 'none',
        redirect_uris: [callback],
        scope: 'openid offline_access',
      },
      ...deviceClients,
    ],
    options: {
      acrValues: ['pwd', 'mfa', 'hardware'],
      login: {
        acr: 'pwd',
      },
      access: {
        allow: (user, request) => {
          asked.push(request)
          return allow(user, request)
        },
      },
      protocol: {
        implicit: true,
        tokenExchange: { allow: () => true },
        grants: [defineGrant({ grantType: pinGrant, exchange: ({ scopes }) => ({ subject: 1, scopes }) })],
      },
      features: [
        ruling(),
        device(),
        personalAccessTokens(),
        trustedIssuers({ issuers: { [idp]: { jwks: { keys: [key.publicJwk as never] } } } }),
        secondFactor({
          find: (_, { acrValues }) =>
            acrValues.includes('mfa') || acrValues.includes('hardware')
              ? { kind: 'code', verify: (code) => code.length === 6, acr: 'mfa' }
              : undefined,
        }),
      ],
    },
  })
  host.oauth.events.on('access.denied', (event) => void denied.push(event))
})
afterAll(() => host.close())
beforeEach(() => {
  allow = () => true
  judge = async () => undefined
  asked.length = 0
  denied.length = 0
  jest.spyOn(console, 'error').mockReturnValue()
})
afterEach(() => jest.restoreAllMocks())

const counts = async (): Promise<number[]> => {
  const all = tables.map((table) => host.table(table).count({ rows: '*' }).first())
  return (await Promise.all(all)).map((row) => Number(row?.rows))
}

const native = { client_id: 'native', client_secret: undefined }
const { verifier, challenge } = pkce()
const proof = { code_challenge: challenge, code_challenge_method: 'S256' }
const publicRequest = { client_id: 'native', scope: 'openid offline_access', ...proof }
const scope = 'openid offline_access notes:read'
const url = (more: Record<string, string> = {}): string => authorizeUrl({ client_id: 'web', scope, ...more })

/** Ada's browser, which has allowed everything that she was asked. */
const browser = async (): Promise<RawBrowser> => {
  const agent = new RawBrowser(host.app)
  await agent.grant(url({ response_type: 'code id_token token', nonce: 'n' }))
  return agent
}

/** What an attempt led to: a status, and whether the client or the user got something that is issued. */
interface Outcome {
  readonly status: number
  readonly isIssued: boolean
  readonly error?: unknown
}
const ofPage = ({ status, location }: Answer): Outcome => {
  const parameters = new URLSearchParams(location && (location.search.slice(1) || location.hash.slice(1)))
  return { status, isIssued: parameters.has('code'), error: parameters.get('error') ?? undefined }
}
const ofEndpoint = async (request: supertest.Test): Promise<Outcome> => {
  const { status, body } = await request
  return { status, isIssued: body.access_token !== undefined, error: body.error }
}

/** Every way to a code or token of a user. Each prepares what the last act needs, which may be tried again. */
const flows: Readonly<Record<string, () => Promise<() => Promise<Outcome>>>> = {
  authorize: async () => {
    const agent = await browser()
    return async () => ofPage(await agent.open(url()))
  },
  'authorize (hybrid)': async () => {
    const agent = await browser()
    return async () => ofPage(await agent.open(url({ response_type: 'code id_token token', nonce: 'n' })))
  },
  code: async () => {
    const code = await codeFor(host, { scope })
    return () => ofEndpoint(redeem(host, code))
  },
  refresh: async () => {
    const { refresh_token } = await tokensFor(host, { scope })
    return () => ofEndpoint(refresh(host, refresh_token))
  },
  'refresh (with rotation)': async () => {
    const { refresh_token } = await tokensFor(host, publicRequest, { ...native, code_verifier: verifier })
    return () => ofEndpoint(refresh(host, refresh_token, native))
  },
  exchange: async () => {
    const { access_token } = await tokensFor(host, { scope })
    const fields = { subject_token: access_token, subject_token_type: tokenTypes.accessToken, ...web }
    return () => ofEndpoint(post(host, { grant_type: tokenExchangeGrantType, ...fields }))
  },
  assertion: async () => {
    const claims = () => ({ iss: idp, sub: '1', client_id: 'web' })
    return async () => {
      const jwt = await assertion('web', key, claims(), { typ: 'oauth-id-jag+jwt' })
      return ofEndpoint(
        post(host, { grant_type: assertionGrant, assertion: jwt, scope: 'notes:read', ...web }),
      )
    }
  },
  grant: async () => () => ofEndpoint(post(host, { grant_type: pinGrant, scope: 'notes:read', ...web })),
  device: async () => {
    const agent = await browser()
    const { user_code } = await codesFor(host)
    const page = await agent.decide(await openCode(agent, user_code), 'allow')
    const consent = page.url.pathname.endsWith('/consent') ? page : undefined
    return async () => {
      const answer = await (consent ? agent.decide(consent, 'allow') : agent.open(page.url.href))
      return { status: answer.status, isIssued: textOf(answer).includes('Your device is connected') }
    }
  },
  device_code: async () => {
    const codes = await codesFor(host)
    await connect(new RawBrowser(host.app), codes.user_code)
    return () => ofEndpoint(poll(host, codes))
  },
  personal_token: async () => {
    const agent = await browser()
    const chosen = { name: 'Script', days: '30', 'scope:notes:read': 'on' }
    return async () => {
      const form = await agent.open('/oauth/account/tokens/new')
      const answer = await agent.submit(form, 'name="decision"', chosen)
      return { status: answer.status, isIssued: answer.html.includes('lk_pat_') }
    }
  },
}

const fail = () => {
  throw new Error('the licence server is down')
}
/** Every answer, with what it leads to. */
const answers: Readonly<
  Record<string, { readonly answer: () => unknown; readonly leads: 'on' | 'away' | '503' }>
> = {
  true: { answer: () => true, leads: 'on' },
  'a promise of true': { answer: async () => true, leads: 'on' },
  false: { answer: () => false, leads: 'away' },
  'a promise of false': { answer: async () => false, leads: 'away' },
  'a reason': { answer: () => ({ deny: 'You have no licence' }), leads: 'away' },
  'a level that the login lacks': { answer: () => ({ acr: ['hardware'] }), leads: 'away' },
  'a level that does not exist': { answer: () => ({ acr: ['none'] }), leads: 'away' },
  'an error': { answer: fail, leads: '503' },
  'a promise that fails': { answer: async () => fail(), leads: '503' },
  nothing: { answer: () => undefined, leads: '503' },
  'the text true': { answer: () => 'true', leads: '503' },
  'an object that says nothing': { answer: () => ({}), leads: '503' },
}

describe.each(Object.entries(flows))('%s', (name, prepare) => {
  test.each(Object.entries(answers))('access.allow returns %s', async (_, { answer, leads }) => {
    const attempt = await prepare()
    const before = await counts()
    asked.length = 0
    allow = answer as typeof allow
    const outcome = await attempt()
    expect(asked.at(-1)?.step).toBe(name.replace(/ .*/, ''))
    if (leads === 'on') {
      expect(outcome.isIssued).toBe(true)
      return
    }
    expect(outcome.isIssued).toBe(false)
    if (leads === '503') expect(outcome.status).toBe(503)
    expect(await counts()).toEqual(before)
    if (leads === 'away' && outcome.status !== 200 && outcome.error === undefined)
      expect(denied).toContainEqual(expect.objectContaining({ subject: '1' }))
    // What is used up by its error, such as a request that the client has got an answer to, begins again.
    const isOver = outcome.error === 'unmet_authentication_requirements' || outcome.status === 200
    allow = () => true
    const again = isOver ? await prepare() : attempt
    expect((await again()).isIssued).toBe(true)
  })
})

describe.each(Object.entries(flows))('a rule of a feature at %s', (_, prepare) => {
  test('that refuses stops it before the host is asked, and uses nothing up', async () => {
    const attempt = await prepare()
    const before = await counts()
    asked.length = 0
    judge = async () => ({ outcome: 'denied', reason: 'Not here' })
    const outcome = await attempt()
    expect(outcome.isIssued).toBe(false)
    expect(asked).toEqual([])
    expect(await counts()).toEqual(before)
    judge = async () => undefined
    const again = outcome.status === 200 ? await prepare() : attempt
    expect((await again()).isIssued).toBe(true)
  })

  test('that leaves fewer scopes lets the host see only these', async () => {
    const attempt = await prepare()
    asked.length = 0
    judge = async (_server, { scopes }) => ({
      outcome: 'capped',
      scopes: scopes.filter((each) => each !== 'openid'),
    })
    const { isIssued } = await attempt()
    expect(asked.every(({ scopes }) => !scopes.includes('openid'))).toBe(true)
    // The tokens of the device have no other scope.
    expect(isIssued).toBe(asked.length > 0)
  })
})

test('the host gets the browser’s request at authorization only, with client, scopes and level', async () => {
  await (await flows.code!())()
  const [first, ...others] = asked.filter(({ step }) => step === 'authorize')
  expect(first).toMatchObject({
    client: { client_id: 'web', client_name: 'Web client' },
    scopes: ['openid', 'offline_access', 'notes:read'],
    acr: 'pwd',
    req: expect.objectContaining({ method: expect.any(String) }),
  })
  expect(others.length).toBeLessThan(2)
  expect(asked.filter(({ step }) => step === 'code')).toEqual([
    expect.not.objectContaining({ req: expect.anything() }),
  ])
})

describe('the page', () => {
  const refused = async (reason: string) => {
    allow = ({ id }, { step }) => step !== 'authorize' || Number(id) === bob.id || { deny: reason }
    const agent = new RawBrowser(host.app)
    return { agent, page: await agent.grant(url({ state: 's' })) }
  }

  test('says the reason as text, before it asks for consent, and leads back to the client', async () => {
    const { agent, page } = await refused('Only <b>staff</b> may')
    expect([page.status, page.url.pathname]).toEqual([403, '/oauth/access-denied'])
    expect(page.html).toContain('Only &lt;b&gt;staff&lt;/b&gt; may')
    expect(textOf(page)).toContain('You can’t use Web client')
    expect(denied).toMatchObject([
      { subject: '1', clientId: 'web', step: 'authorize', reason: 'Only <b>staff</b> may' },
    ])
    const { location } = await agent.submit(page, 'value="back"', { decision: 'back' })
    expect(location?.searchParams.get('error')).toBe('access_denied')
    expect(location?.searchParams.get('state')).toBe('s')
    expect(location?.href).not.toContain('staff')
  })

  test('goes on with another account', async () => {
    const { agent, page } = await refused('no')
    const login = await agent.submit(page, 'value="switch"', { decision: 'switch' })
    expect(login.url.pathname).toBe('/oauth/login')
    const consent = await agent.signIn(login, bob.email, bob.password)
    const { location } = await agent.decide(consent, 'allow')
    expect(location?.searchParams.get('code')).toEqual(expect.any(String))
  })

  test('goes on as soon as the host allows it, with the consent that was given', async () => {
    const agent = new RawBrowser(host.app)
    const consent = await agent.signIn(await agent.open(url({ prompt: 'consent' })))
    allow = () => false
    const page = await agent.decide(consent, 'allow')
    expect(page.url.pathname).toBe('/oauth/access-denied')
    allow = () => true
    const { location } = await agent.open(page.url.href)
    expect(location?.searchParams.get('code')).toEqual(expect.any(String))
  })

  test('is not shown for prompt=none: the client gets the error', async () => {
    const agent = await browser()
    allow = () => ({ deny: 'no' })
    const { location } = await agent.open(url({ prompt: 'none' }))
    expect(location?.searchParams.get('error')).toBe('access_denied')
  })
})

describe('a level', () => {
  const stepUp = async (levels: string[], more: Record<string, string> = {}) => {
    allow = (_, { step }) => step !== 'authorize' || { acr: levels }
    const agent = await browser()
    const page = await agent.open(url(more))
    const second = page.url.pathname.endsWith('/login') ? await agent.signIn(page) : page
    if (!second.url.pathname.endsWith('/second-factor')) return { agent, answer: second }
    return {
      agent,
      answer: await agent.submit(second, 'name="code"', {
        code: String(100_000 + asked.length + performance.now()).slice(0, 6),
      }),
    }
  }

  test('is asked for by a second sign-in, and then the request goes on', async () => {
    allow = () => true
    const { agent, answer } = await stepUp(['mfa'])
    expect(asked.at(-1)?.acr).toBe('mfa')
    const { location } = answer.url.pathname.endsWith('/consent')
      ? await agent.decide(answer, 'allow')
      : answer
    const code = location?.searchParams.get('code') ?? ''
    const { body } = await redeem(host, code)
    const { acr } = JSON.parse(Buffer.from(body.id_token.split('.')[1], 'base64url').toString())
    expect(acr).toBe('mfa')
  })

  test('that no sign-in reaches is an error, once', async () => {
    const { answer } = await stepUp(['hardware'])
    expect(answer.location?.searchParams.get('error')).toBe('unmet_authentication_requirements')
    expect(denied).toMatchObject([{ reason: 'the sign-in has none of: hardware' }])
  })

  test('that the client excludes is an error', async () => {
    const { answer } = await stepUp(['mfa'], { acr_values: 'pwd' })
    expect(answer.location?.searchParams.get('error')).toBe('unmet_authentication_requirements')
  })

  test('names itself to a client that refreshes', async () => {
    const { refresh_token } = await tokensFor(host, { scope })
    allow = () => ({ acr: ['mfa'] })
    const res = await refresh(host, refresh_token)
    expectError(res, 400, 'interaction_required')
    expect(res.body.error_description).toContain('acr_values: mfa')
  })
})

test('a refusal at refresh does not reuse-detect the next try, nor end the grace period', async () => {
  const { refresh_token } = await tokensFor(host, publicRequest, { ...native, code_verifier: verifier })
  allow = () => ({ deny: 'not today' })
  expectError(await refresh(host, refresh_token, native), 400, 'access_denied')
  allow = () => true
  const { body: first } = await refresh(host, refresh_token, native)
  allow = () => false
  expectError(await refresh(host, refresh_token, native), 400, 'access_denied')
  allow = () => true
  const { body: repeated } = await refresh(host, refresh_token, native)
  expect(repeated.refresh_token).toBe(first.refresh_token)
})
