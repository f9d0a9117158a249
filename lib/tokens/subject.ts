import type { AuthorizationServer } from '../authorization-server.ts'
import { pairwiseSubject } from '../keys/pairwise-salt.ts'
import { sectorOf } from '../protocol/client.ts'
import type { ClientMetadata } from '../protocol/client-metadata.ts'

/**
 * The subject identifier by which a client knows a user (OIDC Core §8): the user's own id, or for a client that is
 * registered so, one that no client of another sector can match with its own.
 */
export const subjectFor = (
  server: AuthorizationServer,
  client: { readonly metadata: ClientMetadata },
  subject: string,
): string => {
  if (client.metadata.subject_type !== 'pairwise') return subject
  return pairwiseSubject(server.pairwiseSalt, sectorOf(client.metadata), subject)
}
