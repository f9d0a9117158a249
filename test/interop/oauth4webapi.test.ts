import express from 'express'
import * as oauth from 'oauth4webapi'
import { pushedRequests } from '../../lib/features/index.ts'
import { callback } from '../support/host.ts'
import { createClientKey } from '../support/signing-client.ts'
import { answer, messageSigningClient, startProvider } from '../support/stock-client.ts'
import { describeOauth4webapi } from './oauth4webapi.ts'

test('this file has Express 5', () => expect('query' in express).toBe(false))

describeOauth4webapi('Express 5')

const http = { [oauth.allowInsecureRequests]: true }

test('oauth4webapi signs its request, pushes it, and verifies the signed response', async () => {
  const { privateKey, publicJwk } = await createClientKey('ES256', 'mine')
  const provider = await startProvider({
    options: { protocol: { requestObjects: true }, features: [pushedRequests({ required: true })] },
    clients: [messageSigningClient(publicJwk)],
  })
  const issuer = new URL(provider.issuer)
  const discovered = await oauth.discoveryRequest(issuer, http)
  const as = await oauth.processDiscoveryResponse(issuer, discovered)
  const client = { client_id: 'signing', authorization_signed_response_alg: 'ES256' }
  const key = { key: privateKey, kid: 'mine' }
  const authentication = oauth.PrivateKeyJwt(key)
  const verifier = oauth.generateRandomCodeVerifier()
  const parameters = {
    redirect_uri: callback,
    scope: 'openid',
    response_type: 'code',
    response_mode: 'jwt',
    state: 's',
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  }
  const request = await oauth.issueRequestObject(as, client, parameters, key)
  const pushed = await oauth.pushedAuthorizationRequest(as, client, authentication, { request }, http)
  const { request_uri } = await oauth.processPushedAuthorizationResponse(as, client, pushed)
  const url = new URL(as.authorization_endpoint ?? '')
  url.search = new URLSearchParams({ client_id: 'signing', request_uri }).toString()
  const back = await answer(provider.browser(), url)
  const response = await oauth.validateJwtAuthResponse(as, client, back, 's', http)
  const redeemed = await oauth.authorizationCodeGrantRequest(
    ...([as, client, authentication, response, callback, verifier, http] as const),
  )
  const tokens = await oauth.processAuthorizationCodeResponse(as, client, redeemed)
  expect(oauth.getValidatedIdTokenClaims(tokens)).toMatchObject({ sub: '1', aud: 'signing' })
  await provider.close()
})
