import { randomId } from '../../keys/secrets.ts'
import type { AuthorizationServer } from '../../oauth/authorization-server.ts'
import { impliedScopes } from '../../options/scopes.ts'
import { type Narrowing, narrowedAuthorization, narrowedTerms } from '../../protocol/narrowing.ts'
import type { ConsentReceipt } from '../../protocol/requests/consent.ts'
import type { RequestInfo } from '../../protocol/requests/request-info.ts'
import {
  createConsentReceipt,
  findConsentToNarrow,
  lockAuthorizationsOfClient,
  narrowAuthorization,
  narrowConsent,
  noOrganization,
} from '../../storage/repositories/index.ts'
import type { ClientAccess } from './disconnect-client.ts'

/**
 * Takes something away from a client that has access for a user: scopes, things, or time. It holds at the next use of an
 * opaque token and at the next refresh; a JWT access token says what it says until it ends. The consent goes first: its row
 * lock delays a code that is being issued, and what was read before is not issued after.
 *
 * @param narrowing what the client loses; it never gives anything
 * @param by the request, and what the page showed: it is kept if anything has changed
 * @returns whether anything has changed
 */
export const narrowClient = (
  { database, events, options, now: clock }: AuthorizationServer,
  { subject, clientId, organization }: ClientAccess,
  narrowing: Narrowing,
  { info, receipt }: { readonly info?: RequestInfo; readonly receipt?: ConsentReceipt } = {},
): Promise<boolean> =>
  events.change(database, async (tx, tell) => {
    const implied = impliedScopes(options)
    const now = clock()
    const key = { subject, clientId, organization: organization ?? noOrganization }
    const consent = await findConsentToNarrow(tx, key)
    const terms = consent && narrowedTerms(consent, narrowing, implied)
    if (terms) await narrowConsent(tx, { ...key, terms })
    let newest: string | undefined
    for (const authorization of await lockAuthorizationsOfClient(tx, { subject, clientId, organization })) {
      const narrowed = narrowedAuthorization(authorization, narrowing, implied)
      if (narrowed === undefined) continue
      await narrowAuthorization(tx, { ...narrowed, id: authorization.id })
      newest = authorization.id
    }
    if (terms === undefined && newest === undefined) return false
    if (receipt) {
      const about = { subject, clientId, authorizationId: newest ?? randomId() }
      await createConsentReceipt({ ...about, id: randomId(), receipt, now }).run(tx)
    }
    const { scopes, choices, until } = narrowing
    await tell('authorization.narrowed', info, {
      subject,
      clientId,
      scopes,
      ...(Object.keys(choices).length > 0 && { choices }),
      ...(until !== undefined && { expiresAt: until }),
      ...(organization !== undefined && { organization }),
    })
    return true
  })
