import { defineFeature, type FeatureDefinition } from '../feature.ts'
import { jwtBearer } from './grant.ts'
import { assertIssuers, members } from './option.ts'
import { idJagProfile } from './rules.ts'

const definition: FeatureDefinition = { name: 'trusted-issuers' }

/**
 * Clients exchange assertions of issuers that you trust for access tokens (RFC 7523 §2.1): docs/trusted-issuers.md.
 *
 * @example trustedIssuers({ issuers: { 'https://idp.example.com': { jwksUri: 'https://idp.example.com/jwks' } } })
 */
export const trustedIssuers = defineFeature(definition, {
  name: 'trustedIssuers',
  members,
  complete: ({ issuers }) => {
    assertIssuers(issuers)
    return issuers
  },
  activate: (issuers) => ({
    oauth: {
      grants: [jwtBearer(issuers)],
      // Only an assertion about a user is an ID-JAG.
      ...(Object.values(issuers).some(({ client }) => client === undefined) && {
        metadata: { authorization_grant_profiles_supported: [idJagProfile] },
      }),
    },
  }),
})
