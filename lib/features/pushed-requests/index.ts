import type { Feature } from '../../feature.ts'
import type { PushedRequestOption } from './option.ts'
import { parEndpoint } from './par-endpoint.ts'
import { openPushed } from './requests.ts'

/** Clients push their authorization requests to `/par`, and the browser carries a reference (RFC 9126). */
export const pushedRequests: Feature<PushedRequestOption> = {
  name: 'pushed-requests',
  option: ({ features, lifetimes }) =>
    features.pushedRequests
      ? { isRequired: features.pushedRequests === 'required', lifetime: lifetimes.pushedRequest }
      : undefined,
  migrations: new Map(),
  texts: {},
  userData: undefined,
  clientData: undefined,
  expired: [],
  tools: undefined,
  activate: (option) => ({
    api: [parEndpoint(option)],
    openRequest: (context, parameters) => openPushed(context, option, parameters),
    ...(option.isRequired && { metadata: { require_pushed_authorization_requests: true } }),
  }),
}
