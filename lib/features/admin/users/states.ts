import type { OperatorPageModel } from '../../../web/pages/operator-page-model.ts'
import type { PageModels } from '../../../web/pages/page-models.ts'
import type { PageForm } from '../../../web/pages/page-parts.ts'
import { operatorTexts } from '../texts.ts'
import type { TroubleModel } from './models.ts'
import { userTexts } from './texts.ts'

type Users = PageModels['operator-users']
type User = NonNullable<Users['user']>
type Form = (decision: string) => PageForm

const time = '2026-11-21T09:41:00.000Z'
const earlier = '2026-03-02T08:00:00.000Z'
const url = '/admin/user-act?subject=10032'

/** The parts of a user that have a page of their own to end them. */
export const userParts = (form: Form): Pick<User, 'logins' | 'more' | 'deleteUrl'> => ({
  logins: [
    {
      device: { browser: 'Chrome', system: 'macOS' },
      address: '203.0.113.7',
      since: earlier,
      lastUsed: time,
      methods: ['pwd'],
      expires: time,
      end: form('sign-out'),
    },
    { device: {}, since: earlier, methods: ['pwd', 'otp'], expires: earlier, ended: earlier },
  ],
  more: [
    {
      title: 'Two-step sign-in',
      summary: 'On. 8 recovery codes are left.',
      act: { label: 'Reset', url },
      rows: [],
    },
    {
      title: 'Passkeys',
      summary: '1 passkey signs in.',
      rows: [
        {
          name: 'Phone',
          facts: [
            { label: 'Added', time: earlier },
            { label: 'Last used', text: 'never' },
          ],
          act: { label: 'Remove', url },
        },
      ],
    },
    { title: 'Personal access tokens', summary: 'None.', rows: [] },
  ],
  deleteUrl: url,
})

const trouble = (form: Form): TroubleModel => ({
  username: 'alice@example.com',
  failures: 5,
  since: earlier,
  attempts: [{ time, address: '203.0.113.7' }, { time: earlier }],
  locks: [{ until: time, network: '203.0.113.7' }, { until: time }],
  unlock: form('unlock'),
})

/**
 * States of the page about a user that cannot sign in, and of searches without a user.
 *
 * @param long a word that no line holds
 */
export const userStates = (users: Users, user: User, form: Form, long: string): Record<string, Users> => ({
  'operator-users-locked': { ...users, query: 'alice@example.com', user, trouble: [trouble(form)] },
  'operator-users-locked-long': {
    ...users,
    user: { ...user, more: user.more.map((section) => ({ ...section, summary: long })) },
    trouble: [
      {
        ...trouble(form),
        username: long,
        failures: 0,
        attempts: [],
        locks: [
          { until: time, network: '203.0.113.7', of: 'Codes of two-step sign-in' },
          { until: time, of: 'Codes of two-step sign-in' },
        ],
      },
    ],
  },
  'operator-users-disabled': { ...users, query: 'alice@example.com', user: { ...user, isDisabled: true } },
  'operator-users-no-user': { ...users, query: 'mira', unknown: true },
  'operator-users-no-user-tried': {
    ...users,
    query: 'mira',
    unknown: true,
    trouble: [{ username: 'mira', failures: 1, since: time, attempts: [{ time }], locks: [] }],
    notice: 'unlocked',
  },
})

/** States of the page that asks before something of a user ends. @param above what stands above every page @param long a word that no line holds */
export const userActStates = (
  above: OperatorPageModel,
  form: Form,
  long: string,
): Record<string, PageModels['operator-user-act']> => {
  const act: PageModels['operator-user-act'] = {
    ...above,
    question: 'Remove the passkey “Phone”?',
    effect: 'It no longer signs in.',
    label: 'Remove',
    username: 'alice@example.com',
    fullName: 'Alice Example',
    id: '10032',
    maxCounted: 10_000,
    run: form('run'),
    cancelUrl: '/admin/users?subject=10032',
  }
  return {
    'operator-user-act': act,
    'operator-user-act-all': {
      ...act,
      question: userTexts['operator-user-act.all.question'],
      effect: operatorTexts['operator-users.all.text'],
      label: operatorTexts['operator-users.all'],
      username: undefined,
      usage: { logins: 3, clients: 12, authorizations: 10_000 },
    },
    'operator-user-act-long': { ...act, question: long, effect: long, username: long, id: long },
  }
}
