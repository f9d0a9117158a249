import type { AuthorizationServer } from '../authorization-server.ts'
import { keepLogo } from '../clients/logo.ts'
import { ownPath } from '../http/urls.ts'
import { type Client, logoHash } from '../protocol/client.ts'

/**
 * The path of a client's logo on our own origin; undefined while there is none. If it has to be fetched, that begins in
 * the background, and a later page shows it. A client that described itself has none: its logo could be another's.
 */
export const logoPath = (server: AuthorizationServer, client: Client): string | undefined => {
  if (client.metadata.self_described !== undefined) return undefined
  keepLogo(server, client)
  const hash = logoHash(client)
  return hash && ownPath(server, `/logos/${hash}`)
}
