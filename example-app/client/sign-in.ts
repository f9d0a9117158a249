import * as openid from 'openid-client'

/** Journal's own settings and those of its provider. */
export interface JournalSettings {
  /** The address of Journal, without a trailing slash. */
  url: string
  /** The issuer identifier of the provider. */
  issuer: string
  clientId: string
  clientSecret: string
  /** The API that Journal calls with the access token. */
  notesApi: string
}

/** What Journal stores for one browser, on the server. Tokens never reach the browser. */
export interface SignedIn {
  accessToken: string
  refreshToken?: string
  /** Epoch seconds. */
  expiresAt: number
  scope: string
  refreshes: number
  idToken: openid.IDToken
  userInfo: openid.UserInfoResponse
}

/** The values of one sign-in, which the callback is checked against. */
export interface PendingSignIn {
  state: string
  nonce: string
  codeVerifier: string
}

/** The scopes of Journal: the user's identity, their notes, and offline access. */
export const scope = 'openid profile email notes:read offline_access'

/** The provider's configuration, discovered on first use. A failed discovery is retried. */
export const discoverOnce = (settings: JournalSettings): (() => Promise<openid.Configuration>) => {
  let configuration: Promise<openid.Configuration> | undefined
  // Verifies the signatures of ID tokens although they come directly from the token endpoint (OIDC Core §3.1.3.7),
  // because plain http, which only a provider on localhost may use, does not authenticate the provider.
  const execute = [openid.enableNonRepudiationChecks]
  if (settings.issuer.startsWith('http://localhost:')) execute.push(openid.allowInsecureRequests)
  const discover = () =>
    openid.discovery(new URL(settings.issuer), settings.clientId, settings.clientSecret, undefined, {
      execute,
    })
  return () => {
    configuration ??= discover().catch((error) => {
      configuration = undefined
      throw error
    })
    return configuration
  }
}

/** The URL that starts a sign-in (code, PKCE, state, nonce), and the values to keep until the callback. */
export const startSignIn = async (
  provider: openid.Configuration,
  settings: JournalSettings,
): Promise<{ url: URL; pending: PendingSignIn }> => {
  const pending = {
    state: openid.randomState(),
    nonce: openid.randomNonce(),
    codeVerifier: openid.randomPKCECodeVerifier(),
  }
  const url = openid.buildAuthorizationUrl(provider, {
    redirect_uri: `${settings.url}/callback`,
    scope,
    state: pending.state,
    nonce: pending.nonce,
    code_challenge: await openid.calculatePKCECodeChallenge(pending.codeVerifier),
    code_challenge_method: 'S256',
  })
  return { url, pending }
}

type Tokens = openid.TokenEndpointResponse & openid.TokenEndpointResponseHelpers

const tokenFields = (tokens: Tokens, before?: SignedIn) => ({
  accessToken: tokens.access_token,
  refreshToken: tokens.refresh_token ?? before?.refreshToken,
  expiresAt: Math.floor(Date.now() / 1000) + (tokens.expiresIn() ?? 0),
  scope: tokens.scope ?? before?.scope ?? scope,
})

/** Redeems the code of the callback, verifies the ID token and reads UserInfo; throws what openid-client throws. */
export const finishSignIn = async (
  provider: openid.Configuration,
  callback: URL,
  pending: PendingSignIn,
): Promise<SignedIn> => {
  const tokens = await openid.authorizationCodeGrant(provider, callback, {
    expectedState: pending.state,
    expectedNonce: pending.nonce,
    pkceCodeVerifier: pending.codeVerifier,
    idTokenExpected: true,
  })
  const idToken = tokens.claims()
  if (!idToken) throw new Error('the provider sent no ID token')
  const userInfo = await openid.fetchUserInfo(provider, tokens.access_token, idToken.sub)
  return { ...tokenFields(tokens), refreshes: 0, idToken, userInfo }
}

/** Exchanges the refresh token for new tokens, which may include a new refresh token. */
export const refresh = async (provider: openid.Configuration, before: SignedIn): Promise<SignedIn> => {
  if (!before.refreshToken) throw new Error('the session has no refresh token')
  const tokens = await openid.refreshTokenGrant(provider, before.refreshToken)
  return {
    ...before,
    ...tokenFields(tokens, before),
    refreshes: before.refreshes + 1,
    idToken: tokens.claims() ?? before.idToken,
  }
}

/** The user's notes, from the Notes API. */
export const fetchNotes = async (
  provider: openid.Configuration,
  settings: JournalSettings,
  { accessToken }: SignedIn,
): Promise<{ title: string; body: string }[]> => {
  const response = await openid.fetchProtectedResource(
    provider,
    accessToken,
    new URL(settings.notesApi),
    'GET',
  )
  if (!response.ok) throw new Error(`the Notes API answered ${response.status}`)
  const { notes } = (await response.json()) as { notes: { title: string; body: string }[] }
  return notes
}
