import { hash, timingSafeEqual } from 'node:crypto'
import { refusal } from '../refusal.ts'

export const codeChallengeMethods = ['S256', 'plain'] as const
export type CodeChallengeMethod = (typeof codeChallengeMethods)[number]

export interface CodeChallenge {
  readonly value: string
  readonly method: CodeChallengeMethod
}

// RFC 7636 §4.1 and §4.2: verifier and challenge are 43 to 128 unreserved characters.
const unreserved = /^[A-Za-z0-9\-._~]{43,128}$/
// A SHA-256 in base64url is always 43 characters.
const sha256Base64url = /^[A-Za-z0-9_-]{43}$/

/**
 * Parses the challenge of an authorization request (RFC 7636 §4.3). A missing method is refused, although RFC 7636
 * defaults it to `plain`.
 *
 * @param methods the methods this server accepts; clients that the host did not register itself must not use `plain`
 * @returns undefined if the request has no challenge
 * @throws OAuthError `invalid_request`
 */
export const parseCodeChallenge = (
  challenge: string | undefined,
  method: string | undefined,
  methods: readonly CodeChallengeMethod[],
): CodeChallenge | undefined => {
  if (challenge === undefined) {
    if (method === undefined) return undefined
    throw refusal('code_challenge_incomplete', {
      values: { parameter: 'code_challenge', other: 'code_challenge_method' },
    })
  }
  if (method === undefined) {
    throw refusal('code_challenge_incomplete', {
      values: { parameter: 'code_challenge_method', other: 'code_challenge' },
    })
  }
  const accepted = methods.find((candidate) => candidate === method)
  if (accepted === undefined) {
    throw refusal('code_challenge_method_wrong', { values: { methods: methods.join(' or ') } })
  }
  if (!(accepted === 'S256' ? sha256Base64url : unreserved).test(challenge)) {
    throw refusal('parameter_invalid', { values: { parameter: 'code_challenge', problem: 'is malformed' } })
  }
  return { value: challenge, method: accepted }
}

/** Derives the challenge from a verifier (RFC 7636 §4.2). */
export const codeChallengeOf = (verifier: string, method: CodeChallengeMethod): string =>
  method === 'S256' ? hash('sha256', verifier, 'base64url') : verifier

/**
 * Checks a code verifier against its challenge (RFC 7636 §4.6). A verifier without a challenge is refused too: it means
 * that the challenge was removed from the request (RFC 9700 §2.1.1, downgrade).
 *
 * @throws OAuthError `invalid_grant` if missing, malformed, wrong or unexpected
 */
export const assertCodeVerifier = (
  verifier: string | undefined,
  challenge: CodeChallenge | undefined,
): void => {
  if (challenge === undefined) {
    if (verifier === undefined) return
    throw refusal('code_verifier_unexpected')
  }
  if (verifier === undefined) throw refusal('code_verifier_missing')
  if (!unreserved.test(verifier)) {
    throw refusal('code_verifier_malformed')
  }
  const derived = Buffer.from(codeChallengeOf(verifier, challenge.method))
  const expected = Buffer.from(challenge.value)
  if (derived.length !== expected.length || !timingSafeEqual(derived, expected)) {
    // With `plain` the challenge is the verifier itself.
    const isHashed = challenge.method === 'S256'
    throw refusal('code_verifier_wrong', {
      explanation: {
        expected: isHashed
          ? `a code_verifier with the SHA-256 ${challenge.value}`
          : 'the code_challenge itself',
        received: isHashed ? `one with the SHA-256 ${derived}` : 'another value',
      },
    })
  }
}
