import express from 'express'
import * as openid from 'openid-client'
import { pushedRequests } from '../../lib/features/index.ts'
import { callback } from '../support/host.ts'
import { createClientKey } from '../support/signing-client.ts'
import { answer, messageSigningClient, type Provider, startProvider } from '../support/stock-client.ts'
import { describeOpenidClient } from './openid-client.ts'

test('this file has Express 5', () => expect('query' in express).toBe(false))

describeOpenidClient('Express 5')

describe('openid-client with a key of its own', () => {
  let provider: Provider
  let config: openid.Configuration
  beforeAll(async () => {
    const { privateKey, publicJwk } = await createClientKey('ES256', 'mine')
    provider = await startProvider({
      options: { protocol: { requestObjects: true }, features: [pushedRequests({ required: true })] },
      clients: [messageSigningClient(publicJwk)],
    })
    config = await openid.discovery(
      new URL(provider.issuer),
      'signing',
      { authorization_signed_response_alg: 'ES256' },
      openid.PrivateKeyJwt({ key: privateKey, kid: 'mine' }),
      { execute: [openid.allowInsecureRequests] },
    )
    openid.useJwtResponseMode(config)
    signed = (parameters) =>
      openid.buildAuthorizationUrlWithJAR(config, parameters, { key: privateKey, kid: 'mine' })
  })
  afterAll(() => provider?.close())
  let signed: (parameters: Record<string, string>) => Promise<URL>

  test('signs its request, pushes it, and verifies the signed response', async () => {
    const verifier = openid.randomPKCECodeVerifier()
    const nonce = openid.randomNonce()
    const state = openid.randomState()
    const { searchParams } = await signed({
      redirect_uri: callback,
      scope: 'openid',
      state,
      nonce,
      code_challenge_method: 'S256',
      code_challenge: await openid.calculatePKCECodeChallenge(verifier),
    })
    const url = await openid.buildAuthorizationUrlWithPAR(config, searchParams)
    expect([...url.searchParams.keys()].sort()).toEqual(['client_id', 'request_uri'])
    const back = await answer(provider.browser(), url)
    expect([...back.searchParams.keys()]).toEqual(['response'])
    const tokens = await openid.authorizationCodeGrant(config, back, {
      expectedState: state,
      expectedNonce: nonce,
      pkceCodeVerifier: verifier,
    })
    expect(tokens.claims()).toMatchObject({ sub: '1', aud: 'signing' })
  })

  test('reads a refusal of what it pushes', async () => {
    const { searchParams } = await signed({ redirect_uri: 'https://client.example.com/other' })
    const refused = openid.buildAuthorizationUrlWithPAR(config, searchParams)
    await expect(refused).rejects.toMatchObject({ error: 'invalid_request', status: 400 })
  })
})
