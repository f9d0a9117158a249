import type { AuthorizationServer } from '../authorization-server.ts'
import { pairwiseSubject } from '../keys/pairwise-salt.ts'
import { sectorOf } from '../protocol/client.ts'
import type { ClientMetadata } from '../protocol/client-metadata.ts'

/**
 * The subject identifier of a user for a client (OIDC Core §8): the user's id, or for a client with pairwise subjects
 * a value that clients of other sectors cannot correlate.
 */
export const subjectFor = (
  server: AuthorizationServer,
  client: { readonly metadata: ClientMetadata },
  subject: string,
): string => {
  if (client.metadata.subject_type !== 'pairwise') return subject
  return pairwiseSubject(server.pairwiseSalt, sectorOf(client.metadata), subject)
}
