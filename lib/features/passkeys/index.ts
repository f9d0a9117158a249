import { givenId, isLookup } from '../../users/users.ts'
import { type ActiveFeature, defineFeature, type FeatureDefinition } from '../feature.ts'
import { removePasskeysOf } from './add.ts'
import { attemptPasskey } from './attempt.ts'
import { eventDescriptions } from './event-descriptions.ts'
import { passkeysTable as migration } from './migration.ts'
import { members, type PasskeyOption, passkeyOption } from './option.ts'
import { passkeysPage } from './passkeys-page.ts'
import { passkeyPrompt } from './prompt.ts'
import { exportPasskeys, listPasskeys, removePasskeysOfSubject } from './table.ts'
import { texts } from './texts/index.ts'
import { passkeysSection } from './user-section.ts'
import { assertWebAuthn } from './verifier.ts'

export type { PasskeyFailure } from './rules.ts'

/** Administration of the passkeys of your users. */
export interface PasskeyAdministration {
  /**
   * Removes every passkey of a user, and ends all of their logins, codes and tokens at the same moment, as
   * `oauth.users.revokeAll()` does. Call it if another person may have added a passkey; a changed password alone keeps them.
   *
   * @param id the user's id, as `users` finds it
   * @example await oauth.passkeys.removeAll(user.id)
   */
  removeAll(id: string | number | bigint): Promise<void>
}

/** Members of the router with `passkeys()`. */
export interface WithPasskeys {
  /** Removes passkeys of your users. */
  readonly passkeys: PasskeyAdministration
}

const activate = (option: PasskeyOption): ActiveFeature<WithPasskeys> => ({
  // A package that is missing is reported at once, and not at the first sign-in.
  start: assertWebAuthn,
  account: [{ page: 'passkeys', endpoint: passkeysPage(option), needsEveryLevel: true }],
  signIn: {
    methods: [
      {
        field: 'passkey',
        autocomplete: 'webauthn',
        isSetUp: async ({ server: { database } }, { subject }, { time }) =>
          (await listPasskeys(database, { subject })).some(({ createdAt }) => createdAt < time),
        prompt: (context, page) => passkeyPrompt(context, option, page),
        attempt: (context, page, value) => attemptPasskey(context, option, page, value),
      },
    ],
  },
  operators: { userSections: [passkeysSection] },
  api: (setup) => ({
    passkeys: {
      removeAll: async (id) => {
        const subject = givenId(id, 'passkeys.removeAll()')
        const server = await setup.ready()
        if (isLookup(subject)) await removePasskeysOf(server, subject)
      },
    },
  }),
})

const definition: FeatureDefinition = {
  name: 'passkeys',
  storage: {
    migrations: new Map([['passkeys_001', migration]]),
    users: {
      export: exportPasskeys,
      // A changed password does not say that the passkeys are those of another person.
      revoke: async () => {},
      erase: ({ database }, subject) => removePasskeysOfSubject(database, { subject }),
    },
    clients: undefined,
    expired: [],
  },
  texts: { pages: texts },
  events: eventDescriptions,
  tools: () => import('./samples.ts'),
}

/**
 * Sign-in with passkeys (WebAuthn), which users add at `/account/passkeys`: docs/passkeys.md.
 *
 * @example passkeys({ rpId: 'example.com' })
 */
export const passkeys = defineFeature(definition, {
  name: 'passkeys',
  members,
  complete: passkeyOption,
  activate,
})
