/** Algorithms of what this server signs (RFC 7518 §3.1, RFC 8037 §3.1). */
export const signingAlgorithms = ['RS256', 'PS256', 'ES256', 'EdDSA'] as const

export type SigningAlgorithm = (typeof signingAlgorithms)[number]
