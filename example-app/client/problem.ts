import { AuthorizationResponseError, ResponseBodyError, WWWAuthenticateChallengeError } from 'openid-client'

/** A problem, described for the user and, in small print, for developers. */
export interface Problem {
  title: string
  text: string
  code?: string
  description?: string
}

/** Describes an error of a sign-in, a refresh or an API call. */
export const problemOf = (error: unknown): Problem => {
  if (error instanceof AuthorizationResponseError && error.error === 'access_denied') {
    return {
      title: 'You did not let Journal in',
      text: 'Nothing was shared, and Journal has no access to your Notes account. You can change your mind at any time.',
      code: error.error,
      description: error.error_description,
    }
  }
  if (error instanceof AuthorizationResponseError || error instanceof ResponseBodyError) {
    return {
      title: 'Notes refused the request',
      text: 'Signing in again usually helps.',
      code: error.error,
      description: error.error_description,
    }
  }
  if (error instanceof WWWAuthenticateChallengeError) {
    const parameters = error.cause[0]?.parameters
    return {
      title: 'Notes did not accept the access token',
      text: 'It may have expired, or Journal may have lost its access. Refresh the token, or sign in again.',
      code: parameters?.error ?? String(error.status),
      description: parameters?.error_description,
    }
  }
  return {
    title: 'Something did not work',
    text: 'Notes may be away, or this sign-in took too long. Please try again.',
    code: error instanceof Error && 'code' in error ? String(error.code) : undefined,
    description: error instanceof Error ? error.message : undefined,
  }
}
