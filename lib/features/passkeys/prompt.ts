import type { LoginPage } from '../../web/endpoints/login-form.ts'
import type { PageContext } from '../../web/http/context.ts'
import { createChallenge } from './challenge.ts'
import type { PasskeyOption } from './option.ts'
import { listPasskeys } from './table.ts'

/**
 * For the script of the login page: PublicKeyCredentialRequestOptions as JSON (WebAuthn §5.1.8). If the
 * account is fixed, only its passkeys are asked for; otherwise the browser offers all that it has for this site.
 *
 * @returns undefined if the account has none
 */
export const passkeyPrompt = async (
  { server }: PageContext,
  { rpId }: PasskeyOption,
  { topic, browser, account }: Pick<LoginPage, 'topic' | 'browser' | 'account'>,
): Promise<string | undefined> => {
  const known = account && (await listPasskeys(server.database, { subject: account.subject }))
  if (known?.length === 0) return undefined
  return JSON.stringify({
    challenge: createChallenge(server, { action: 'sign in', about: topic, browser }),
    rpId,
    userVerification: 'required',
    ...(known && {
      allowCredentials: known.map(({ credentialId: id, transports }) => ({
        type: 'public-key',
        id,
        transports,
      })),
    }),
  })
}
