import type { PageContext } from '../http/context.ts'
import { listPasskeys } from '../repositories/index.ts'
import { createChallenge } from '../sessions/passkey-challenge.ts'
import type { LoginPage } from './login-form.ts'

/**
 * What the script of the login page asks the browser for, as JSON (WebAuthn §5.1.8). If the account is fixed, only its
 * passkeys are asked for; otherwise the browser offers all that it has for this site.
 *
 * @returns undefined if passkeys are off, or the account has none
 */
export const passkeyPrompt = async (
  { server }: PageContext,
  { about, browser, account }: Pick<LoginPage, 'about' | 'browser' | 'account'>,
): Promise<string | undefined> => {
  const { passkeys } = server.options
  if (passkeys === undefined) return undefined
  const known = account && (await listPasskeys(server.database, { subject: account.subject }))
  if (known?.length === 0) return undefined
  return JSON.stringify({
    challenge: createChallenge(server, { action: 'sign in', about, browser }),
    rpId: passkeys.rpId,
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
