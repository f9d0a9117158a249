import type { AuthorizationServer } from '../authorization-server.ts'
import { pairwiseSid, pairwiseSubject } from '../keys/secrets.ts'
import { type Client, sectorOf } from '../protocol/client.ts'

/**
 * The subject identifier of a user for a client (OIDC Core §8): the user's id, or for a client with pairwise subjects
 * a value that clients of other sectors cannot correlate.
 */
export const subjectFor = (
  server: AuthorizationServer,
  client: Pick<Client, 'clientId' | 'metadata'>,
  subject: string,
): string => {
  if (client.metadata.subject_type !== 'pairwise') return subject
  return pairwiseSubject(server.pairwiseSalt, sectorOf(client), subject)
}

/** The `sid` of a login in the ID tokens and logout tokens of a client (Back-Channel Logout §2.1, §2.4). */
export const sidFor = (
  server: AuthorizationServer,
  { clientId }: Pick<Client, 'clientId'>,
  sid: string,
): string => pairwiseSid(server.pairwiseSalt, clientId, sid)
