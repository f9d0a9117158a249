import type { ActiveFeature, Feature } from '../feature.ts'
import { option, type PushedRequestOption } from './option.ts'
import { parEndpoint } from './par-endpoint.ts'
import { openPushed } from './requests.ts'
import { texts } from './texts/index.ts'

const activate = (option: PushedRequestOption): ActiveFeature => ({
  api: [parEndpoint(option)],
  openRequest: (context, parameters) => openPushed(context, option, parameters),
  ...(option.isRequired && { metadata: { require_pushed_authorization_requests: true } }),
})

/** Clients push their authorization requests to `/par`, and the browser carries a reference (RFC 9126). */
export const pushedRequests: Feature = {
  name: 'pushed-requests',
  option,
  migrations: new Map(),
  texts,
  userData: undefined,
  clientData: undefined,
  expired: [],
  tools: () => import('./samples.ts'),
  activate: ({ features: { pushedRequests: given }, lifetimes }) =>
    given && activate({ isRequired: given.required, lifetime: lifetimes.pushedRequest }),
}
