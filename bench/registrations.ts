/** The clients and users of every server of the benchmark. */

export const callback = 'https://client.example.com/callback'
export const secret = 'a-client-secret-of-more-than-32-characters'
export const scope = 'openid profile email notes:read'

/** The client for each ID token algorithm. */
export const clientIds = { ES256: 'web', RS256: 'web-rs256' } as const
export type Algorithm = keyof typeof clientIds

type GrantType = 'authorization_code' | 'refresh_token' | 'client_credentials'
const grant_types: GrantType[] = ['authorization_code', 'refresh_token', 'client_credentials']

/** RFC 7591 metadata. */
export const clients = Object.entries(clientIds).map(([algorithm, client_id]) => ({
  client_id,
  client_name: 'Web client',
  client_secret: secret,
  redirect_uris: [callback],
  grant_types,
  scope,
  id_token_signed_response_alg: algorithm as Algorithm,
}))

export const password = 'a password of the benchmark'

export const people = Array.from({ length: 200 }, (_, index) => ({
  id: index + 1,
  email: `person-${index + 1}@example.com`,
  full_name: `Person ${index + 1}`,
}))
export type Person = (typeof people)[number]

/** Users for the operation “first visit”, each used once. */
export const visitors = { before: 1_000_000, count: 100_000 } as const

/**
 * @param n from 1
 * @throws RangeError when the table has no more users
 */
export const visitor = (n: number): Person => {
  if (n > visitors.count)
    throw new RangeError(`the run needs more than ${visitors.count} users; make it shorter`)
  return { id: visitors.before + n, email: `visitor-${n}@example.com`, full_name: `Visitor ${n}` }
}

/** Has the same password, but is disabled. */
export const disabledPerson = { id: 1000, email: 'person-0@example.com', full_name: 'Person 0' }
