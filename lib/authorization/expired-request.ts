import { OAuthError } from '../protocol/errors.ts'

/** The waiting request is unknown, expired, used, or another browser's: the page says how to start again. */
export class ExpiredRequestError extends OAuthError {
  constructor() {
    super('invalid_request', 'authorization_request is unknown, expired, already used or of another browser')
  }
}
