import * as oauth from 'oauth4webapi'
import * as openid from 'openid-client'
import { pushedRequests } from '../../lib/features/index.ts'
import { defineGrant } from '../../lib/index.ts'
import { tokenExchangeGrantType, tokenTypes } from '../../lib/protocol/tokens/token-exchange.ts'
import { callback, clients, secret } from '../support/host.ts'
import { claimsOf } from '../support/outcomes.ts'
import { answer, type Provider, startProvider } from '../support/stock-client.ts'

// Stock clients with authorization details (RFC 9396), token exchange (RFC 8693) and a grant of the host.

const [orders, stock] = ['https://orders.example/api', 'https://stock.example/api']
const pin = 'urn:example:grant-type:pin'
const details = [{ type: 'order', number: 7 }]
const http = { [oauth.allowInsecureRequests]: true }

let provider: Provider
beforeAll(async () => {
  provider = await startProvider({
    options: {
      scopes: { 'orders:read': 'See your orders' },
      resources: {
        [orders]: { scopes: ['orders:read'], introspection: ['orders-api'] },
        [stock]: { scopes: ['orders:read'], accessToken: 'jwt' },
      },
      protocol: {
        dpop: {},
        tokenExchange: { allow: ({ client }) => client.client_id !== 'plain' },
        authorizationDetails: { order: { description: 'Change an order' } },
        grants: [
          defineGrant({
            grantType: pin,
            exchange: ({ parameters }) =>
              parameters.pin === '1234' ? { subject: 1, scopes: ['orders:read'] } : undefined,
          }),
        ],
      },
      features: [pushedRequests()],
    },
    clients: [
      {
        ...clients[0],
        client_id: 'web',
        scope: 'openid orders:read',
        authorization_details_types: ['order'],
        grant_types: ['authorization_code', 'refresh_token', tokenExchangeGrantType, pin],
      },
      {
        client_id: 'orders-api',
        client_secret: secret,
        scope: 'orders:read',
        authorization_details_types: ['order'],
        grant_types: [tokenExchangeGrantType],
      },
    ],
  })
})
afterAll(() => provider?.close())

const discover = (clientId: string): Promise<openid.Configuration> =>
  openid.discovery(new URL(provider.issuer), clientId, undefined, openid.ClientSecretBasic(secret), {
    execute: [openid.allowInsecureRequests],
  })

/** Ada signs in and allows one order, and the client gets a token for the orders API. */
const signIn = async (
  config: openid.Configuration,
  options: openid.DPoPOptions = {},
): Promise<Awaited<ReturnType<typeof openid.authorizationCodeGrant>>> => {
  const url = await openid.buildAuthorizationUrlWithPAR(
    config,
    {
      redirect_uri: callback,
      scope: 'orders:read',
      resource: orders,
      authorization_details: JSON.stringify(details),
    },
    options,
  )
  const back = await answer(provider.browser(), url)
  return openid.authorizationCodeGrant(config, back, undefined, { resource: orders }, options)
}
const exchangeOf = (subject_token: string) => ({
  subject_token,
  subject_token_type: tokenTypes.accessToken,
  resource: stock,
})

test('openid-client asks for details, and an API exchanges the token', async () => {
  const config = await discover('web')
  const tokens = await signIn(config)
  expect(tokens.authorization_details).toEqual(details)
  expect(config.serverMetadata().authorization_details_types_supported).toEqual(['order'])

  const api = await discover('orders-api')
  const received = await openid.tokenIntrospection(api, tokens.access_token)
  expect(received).toMatchObject({ active: true, sub: '1', authorization_details: details })
  const exchange = exchangeOf(tokens.access_token)
  const next = await openid.genericGrantRequest(api, tokenExchangeGrantType, exchange)
  expect(next).toMatchObject({ issued_token_type: tokenTypes.accessToken, token_type: 'bearer' })
  const claims = claimsOf(next.access_token)
  expect(claims).toMatchObject({ sub: '1', aud: stock, act: { sub: 'orders-api' } })
  expect(claims).not.toHaveProperty('authorization_details')
})

test('a token that is bound to a key is exchanged only with a proof of that key', async () => {
  const config = await discover('web')
  const DPoP = openid.getDPoPHandle(config, await openid.randomDPoPKeyPair())
  const { access_token } = await signIn(config, { DPoP })
  const exchange = exchangeOf(access_token)
  const other = openid.getDPoPHandle(config, await openid.randomDPoPKeyPair())
  for (const options of [{}, { DPoP: other }]) {
    const refused = openid.genericGrantRequest(config, tokenExchangeGrantType, exchange, options)
    await expect(refused).rejects.toMatchObject({ error: 'invalid_request' })
  }
  const next = await openid.genericGrantRequest(config, tokenExchangeGrantType, exchange, { DPoP })
  expect(claimsOf(next.access_token)).toHaveProperty('cnf.jkt')
})

test('oauth4webapi exchanges a token, and uses a grant of the host', async () => {
  const { access_token } = await signIn(await discover('web'))
  const issuer = new URL(provider.issuer)
  const as = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, http))
  const request = async (
    clientId: string,
    grantType: string,
    parameters: Record<string, string>,
  ): Promise<oauth.TokenEndpointResponse> => {
    const client = { client_id: clientId }
    const authentication = oauth.ClientSecretPost(secret)
    const sent = [as, client, authentication, grantType, parameters, http] as const
    const response = await oauth.genericTokenEndpointRequest(...sent)
    return oauth.processGenericTokenEndpointResponse(as, client, response)
  }
  const next = await request('orders-api', tokenExchangeGrantType, exchangeOf(access_token))
  expect(claimsOf(next.access_token)).toMatchObject({ client_id: 'orders-api', act: { sub: 'orders-api' } })
  expect(await request('web', pin, { pin: '1234' })).toMatchObject({ scope: 'orders:read' })
  await expect(request('web', pin, { pin: '4321' })).rejects.toMatchObject({ error: 'invalid_grant' })
})
