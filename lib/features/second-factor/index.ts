import { removeFrom } from '../../storage/repositories/pruning/expired.ts'
import { givenId, isLookup } from '../../users/users.ts'
import { type AboutUsers, type ActiveFeature, defineFeature, type FeatureDefinition } from '../feature.ts'
import { codePage } from './code-page.ts'
import { eventDescriptions } from './event-descriptions.ts'
import { codeCounter, neededSecondFactor } from './find.ts'
import { nextSecrets, pendingLogins, secondFactors } from './migration.ts'
import {
  appMembers,
  authenticatorOption,
  members,
  quotas,
  type SecondFactorOption,
  secondFactorOption,
} from './option.ts'
import { beginSecondFactor } from './pending-login.ts'
import { removePendingLoginsOfSubject } from './pending-logins-table.ts'
import { removeSecondFactorOf } from './removal.ts'
import { exportSecondFactor, removeSecondFactor } from './second-factors-table.ts'
import { settingsPage } from './settings-page.ts'
import { texts } from './texts/index.ts'
import { secondFactorSection } from './user-section.ts'

/** Administration of the second factors of your users. */
export interface SecondFactorAdministration {
  /**
   * Removes the second factor that Latchkey keeps for a user (`authenticatorApps()`), who has lost it with its recovery
   * codes, and ends all of their logins, codes and tokens at the same moment, as `oauth.users.revokeAll()` does. Verify the
   * identity of the person first.
   *
   * @param id the user's id, as `users` finds it
   * @returns whether the user had one
   * @example await oauth.secondFactor.remove(user.id)
   */
  remove(id: string | number | bigint): Promise<boolean>
}

/** Members of the router with `authenticatorApps()` and with `secondFactor()`. */
export interface WithSecondFactor {
  /** Removes second factors of your users. */
  readonly secondFactor: SecondFactorAdministration
}

const activate = (option: SecondFactorOption): ActiveFeature<WithSecondFactor> => ({
  endpoints: { browsers: [codePage(option)] },
  account: option.apps ? [{ page: 'second-factor-settings', endpoint: settingsPage(option.apps) }] : [],
  signIn: {
    steps: [
      {
        isNeeded: (context, user, at) => neededSecondFactor(context, option, user, at),
        begin: (context, page, attempt) => beginSecondFactor(context, option, page, attempt),
      },
    ],
  },
  operators: { userSections: option.apps ? [secondFactorSection] : [] },
  api: (setup) => ({
    secondFactor: {
      remove: async (id) => {
        const subject = givenId(id, 'secondFactor.remove()')
        const server = await setup.ready()
        return isLookup(subject) && removeSecondFactorOf(server, subject)
      },
    },
  }),
})

const definition: FeatureDefinition = {
  name: 'second-factor',
  storage: {
    migrations: new Map([
      ['second_factor_001', secondFactors],
      ['second_factor_002_pending_logins', pendingLogins],
      ['second_factor_003_next_secrets', nextSecrets],
    ]),
    users: {
      export: exportSecondFactor,
      revoke: (database, subject) => removePendingLoginsOfSubject(database, { subject }),
      erase: async ({ database }, subject) => {
        await removePendingLoginsOfSubject(database, { subject })
        await removeSecondFactor(database, { subject })
      },
      answerCounter: codeCounter,
    },
    clients: undefined,
    // A second factor expires only if its user has not confirmed it.
    expired: [removeFrom('pending_logins', 'id'), removeFrom('second_factors', 'subject')],
  },
  texts: { pages: texts },
  events: eventDescriptions,
  tools: () => import('./samples.ts'),
}

const made = defineFeature(definition, {
  name: 'secondFactor',
  members,
  limits: { quotas },
  complete: secondFactorOption,
  activate,
})

/**
 * A second factor of your app, which the built-in page asks for after the password: docs/second-factor.md.
 *
 * @example secondFactor({ find: (user) => user.totpSecret && { kind: 'code', verify: (code) => verifyTotp(user.totpSecret, code) } })
 */
export const secondFactor = made as AboutUsers<typeof made, 'find'>

/**
 * Users set up an authenticator app, and the built-in page asks for its code: docs/second-factor.md#authenticator-apps.
 *
 * @example authenticatorApps({ acr: 'mfa' })
 */
export const authenticatorApps = defineFeature(definition, {
  name: 'authenticatorApps',
  members: appMembers,
  limits: { quotas },
  complete: authenticatorOption,
  activate,
})
