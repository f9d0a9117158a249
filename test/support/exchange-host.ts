import type supertest from 'supertest'
import type { ClientSeed, TokenExchangeDecision, TokenExchangeRequest } from '../../lib/index.ts'
import { tokenExchangeGrantType, tokenTypes } from '../../lib/protocol/tokens/token-exchange.ts'
import { clients, type Host, type HostSettings, secret, startHost } from './host.ts'
import { answerOf, type Fields, post, type TokenAnswer, tokensFor, type Visit } from './tokens.ts'

/** An API that users' clients call, one that it calls, with JWTs, and one that calls back; and what they may have. */
export const orders = 'https://orders.example/api'
export const stock = 'https://stock.example/api'
export const mail = 'https://mail.example/api'

const api: ClientSeed = {
  client_id: 'orders-api',
  client_secret: secret,
  grant_types: [tokenExchangeGrantType, 'client_credentials'],
  scope: 'orders:read stock:read stock:write',
}

/** What the policy of the host answers, and what it was asked. */
export const policy: {
  decide(request: TokenExchangeRequest): TokenExchangeDecision | boolean | undefined | Promise<boolean>
  asked: unknown[]
} = {
  decide: () => true,
  asked: [],
}

export const startExchangeHost = ({ options, ...settings }: HostSettings = {}): Promise<Host> =>
  startHost({
    ...settings,
    options: {
      scopes: {
        'orders:read': 'See your orders',
        'stock:read': 'See the stock',
        'stock:write': 'Change the stock',
      },
      resources: {
        [orders]: { scopes: ['orders:read', 'stock:read'], introspection: ['orders-api'] },
        [stock]: {
          scopes: ['stock:read', 'stock:write'],
          accessToken: 'jwt',
          introspection: ['stock-api'],
          claims: (_user, { client }) =>
            client.client_id === 'limited' ? { may_act: { sub: 'mail-api' } } : {},
        },
        [mail]: { scopes: ['stock:read', 'orders:read'], introspection: ['mail-api'] },
      },
      protocol: {
        tokenExchange: {
          allow: (request) => {
            policy.asked.push(request)
            return policy.decide(request)
          },
        },
      },
      ...options,
    },
    clients: [
      {
        ...clients[0],
        client_id: 'web',
        grant_types: ['authorization_code', 'refresh_token', tokenExchangeGrantType],
        scope: 'openid profile orders:read stock:read offline_access',
      },
      { ...clients[0], client_id: 'limited', scope: 'stock:read' },
      api,
      { ...api, client_id: 'stock-api' },
      { ...api, client_id: 'mail-api' },
      { ...api, client_id: 'plain-api', grant_types: ['client_credentials'] },
    ],
  })

/** A token of Ada, who uses the client `web`, for the first API. */
export const userToken = (host: Host, fields: Fields = {}, visit: Visit = {}): Promise<TokenAnswer> => {
  const request = { scope: 'orders:read stock:read', resource: orders, ...fields }
  return tokensFor(host, request, { ...fields, scope: undefined }, visit)
}

/** A token exchange by the client of the first API, for the second one. */
export const exchange = (host: Host, subjectToken: string | undefined, fields: Fields = {}): supertest.Test =>
  post(host, {
    grant_type: tokenExchangeGrantType,
    client_id: 'orders-api',
    client_secret: secret,
    subject_token: subjectToken,
    subject_token_type: tokenTypes.accessToken,
    resource: stock,
    ...fields,
  })

export const exchanged = (...request: Parameters<typeof exchange>): Promise<TokenAnswer> =>
  answerOf(exchange(...request))

/** A token that a client has for itself. */
export const ownToken = async (host: Host, client_id: string, fields: Fields = {}): Promise<string> =>
  (
    await answerOf(
      post(host, { grant_type: 'client_credentials', client_id, client_secret: secret, ...fields }),
    )
  ).access_token
