import { type ActiveFeature, defineFeature, type FeatureDefinition } from '../feature.ts'
import { failures, members, type PushedRequestOption, quotas } from './option.ts'
import { parEndpoint } from './par-endpoint.ts'
import { openPushed } from './requests.ts'
import { texts } from './texts/index.ts'

const activate = (option: PushedRequestOption): ActiveFeature => ({
  endpoints: { programs: [parEndpoint(option)] },
  oauth: {
    openRequest: (context, parameters) => openPushed(context, option, parameters),
    ...(option.isRequired && { metadata: { require_pushed_authorization_requests: true } }),
  },
})

const definition: FeatureDefinition = {
  name: 'pushed-requests',
  texts: { pages: texts },
  tools: () => import('./samples.ts'),
}

/**
 * Clients push their authorization requests to `/par`, and the browser carries a reference (RFC 9126):
 * docs/clients.md#pushed-requests.
 *
 * @example pushedRequests({ required: true })
 */
export const pushedRequests = defineFeature(definition, {
  name: 'pushedRequests',
  members,
  limits: { failures, quotas },
  complete: ({ required }, { lifetimes }) => ({ isRequired: required, lifetime: lifetimes.pushedRequest }),
  activate,
})
