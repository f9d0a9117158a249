import type { ClientAuthMethod } from './client-auth-method.ts'

/** A public client only names itself (RFC 6749 §3.2.1); PKCE and rotation protect its codes and tokens. */
export const none: ClientAuthMethod = {
  name: 'none',
  isUsed: ({ authorization, parameters }) =>
    authorization === undefined &&
    !['client_secret', 'client_assertion', 'client_assertion_type'].some((name) => parameters.has(name)),
  credentials: ({ parameters }) => ({ clientId: parameters.required('client_id'), verify: () => true }),
}
