import type { OAuthError } from '../../protocol/errors.ts'
import type { Reason } from '../../protocol/refusal.ts'

/** A frequent mistake, for which the form has words of its own. */
export type DeveloperProblem =
  | 'https'
  | 'wildcard'
  | 'name'
  | 'redirects'
  | 'scopes'
  | 'unaccepted'
  | 'address'

const ofReasons: Partial<Readonly<Record<Reason, DeveloperProblem>>> = {
  redirect_uri_insecure: 'https',
  metadata_insecure: 'https',
  redirect_uri_wildcard: 'wildcard',
  redirect_uri_relative: 'address',
  metadata_unaccepted: 'unaccepted',
  client_unaccepted: 'unaccepted',
}

const ofMissing: Readonly<Record<string, DeveloperProblem>> = {
  client_name: 'name',
  redirect_uris: 'redirects',
  scope: 'scopes',
}

/**
 * The frequent mistake that an error of registration is about.
 *
 * @returns undefined for an error that is rare: the form then shows it as it is
 * @example problemOf({ reason: 'redirect_uri_insecure', parameter: 'redirect_uri' }) // 'https'
 */
export const problemOf = ({
  reason,
  parameter = '',
}: Pick<OAuthError, 'reason' | 'parameter'>): DeveloperProblem | undefined =>
  reason === 'metadata_missing' ? ofMissing[parameter] : ofReasons[reason as Reason]
