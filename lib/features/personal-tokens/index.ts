import { removeFrom } from '../../storage/repositories/pruning/expired.ts'
import { type ActiveFeature, defineFeature, type FeatureDefinition } from '../feature.ts'
import { eventDescriptions } from './event-descriptions.ts'
import { personalTokenFormPage } from './form-page.ts'
import { personalTokensPage } from './list-page.ts'
import { personalTokens as migration, personalTokenChoices } from './migration.ts'
import { members, type PersonalTokenOption, personalTokenOption } from './option.ts'
import { exportPersonalTokens, removePersonalTokensOfSubject } from './table.ts'
import { texts } from './texts/index.ts'
import { personalTokensSection } from './user-section.ts'
import { isPersonalTokenValue } from './value.ts'
import { verifyPersonalToken } from './verify.ts'

export type { PersonalTokenExport } from './table.ts'

const day = 86_400

const activate = (option: PersonalTokenOption): ActiveFeature => ({
  account: [
    { page: 'personal-tokens', endpoint: personalTokensPage(option) },
    { page: 'personal-token-form', endpoint: personalTokenFormPage(option), isLinked: false },
  ],
  operators: { userSections: [personalTokensSection] },
  oauth: {
    tokenKinds: [
      {
        matches: (value) => isPersonalTokenValue(option.prefix, value),
        verify: (server, value) => verifyPersonalToken(server, option, value),
      },
    ],
  },
})

const definition: FeatureDefinition = {
  name: 'personal-tokens',
  storage: {
    migrations: new Map([
      ['personal_tokens_001', migration],
      ['personal_tokens_002_choices', personalTokenChoices],
    ]),
    users: {
      export: exportPersonalTokens,
      revoke: (database, subject) => removePersonalTokensOfSubject(database, { subject }),
      erase: ({ database }, subject) => removePersonalTokensOfSubject(database, { subject }),
    },
    clients: undefined,
    // A month later, so that users see which of their tokens has expired.
    expired: [removeFrom('personal_tokens', 'hash', 30 * day)],
  },
  texts: { pages: texts },
  events: eventDescriptions,
  tools: () => import('./tools.ts').then(({ tools }) => tools),
}

/**
 * Access tokens that users make for themselves at `/account/tokens`, for scripts and tools: docs/personal-access-tokens.md.
 *
 * @example personalAccessTokens({ scopes: ['orders:read'] })
 */
export const personalAccessTokens = defineFeature(definition, {
  name: 'personalAccessTokens',
  members,
  complete: personalTokenOption,
  activate,
})
