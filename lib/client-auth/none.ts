import type { ClientAuthMethod } from './client-auth-method.ts'

/** A public client only says who it is (RFC 6749 §3.2.1); PKCE and rotation protect what it is given. */
export const none: ClientAuthMethod = {
  name: 'none',
  isUsed: ({ authorization, parameters }) =>
    authorization === undefined &&
    !['client_secret', 'client_assertion', 'client_assertion_type'].some((name) => parameters.has(name)),
  present: ({ parameters }) => ({
    clientId: parameters.required('client_id'),
    verify: (client) => client !== undefined,
  }),
}
