import { developers, secondFactor } from '../lib/features/index.ts'
// Type tests: `npm run types` compiles this file. A line after @ts-expect-error must not compile.
import { type AuthRouterOptions, authRouter, type UserMapping } from '../lib/index.ts'

/** A row as a host has it: an interface, which has no index signature. */
interface MyUser {
  id: number
  email: string
  full_name: string
  banned: boolean
}

const columns = { id: 'id', username: 'email', password: 'password_hash' }

export const users: UserMapping<MyUser> = {
  table: 'users',
  columns,
  claims: { name: 'full_name', email: (user) => user.email },
  isActive: (user) => !user.banned,
  verify: async (user, { password }) => user.full_name === password,
}

export const options: AuthRouterOptions<MyUser> = { users }

export const mounted = [
  authRouter(options),
  authRouter({ users }),
  // The type of a row may stand at the function alone.
  authRouter({ users: { table: 'users', columns, isActive: (user: MyUser) => !user.banned } }),
  // Without one, columns are unknown.
  authRouter({ users: { table: 'users', columns, isActive: (user) => user.banned === 0 } }),
  authRouter({ users: { find: async () => ({ id: 1 }), authenticate: async () => undefined } }),
  authRouter({
    users: {
      table: 'users',
      columns,
      // @ts-expect-error the row has no such column
      isActive: (user: MyUser) => !user.blocked,
    },
  }),
  authRouter({
    // @ts-expect-error whether a user is active is not a text
    users: { table: 'users', columns, isActive: (user: MyUser) => user.email },
  }),
]

declare const directory: {
  find(id: string): Promise<MyUser | undefined>
  bind(username: string, password: string): Promise<MyUser | undefined>
}
const functions = {
  find: (id: string) => directory.find(id),
  authenticate: ({ username, password }: { username: string; password: string }) =>
    directory.bind(username, password),
}

export const mountedWithFunctions = [
  // Each hook gets the type of user that `find` returns.
  authRouter({
    users: {
      find: (id) => directory.find(id),
      authenticate: ({ username, password }) => directory.bind(username, password),
      claims: (user) => ({ name: user.full_name.trim(), email: user.email }),
    },
    organizations: (user) => [{ id: user.email.slice(1), name: user.full_name }],
    access: { allow: (user) => !user.banned },
    login: { remember: (user) => void user.full_name.trim() },
    features: [
      secondFactor({
        find: (user: MyUser) => user.banned && { kind: 'code', verify: (code) => code === user.email },
      }),
      // Without one, fields are unknown.
      developers({ allow: (user, { req }) => user.plan === 'pro' && req.secure }),
    ],
  }),
  authRouter({ users: functions, access: { allow: (user) => !user.banned } }),
  // A table with a type of row does the same.
  authRouter({ users, access: { allow: (user) => user.full_name !== '' } }),
  // Without one, fields are unknown, and the id is known.
  authRouter({ access: { allow: (user) => user.role === 'hr' || String(user.id).startsWith('1') } }),
  authRouter({
    users: functions,
    access: {
      // @ts-expect-error the user has no such field
      allow: (user) => user.role === 'hr',
    },
  }),
  authRouter({
    // @ts-expect-error a user has an id
    users: { find: async () => ({ email: 'ada@example.com' }), authenticate: async () => undefined },
  }),
]

// Of what `authenticate` returns, only the id counts.
export const byId = authRouter({
  users: {
    find: (id) => directory.find(id),
    authenticate: async () => ({ id: 1, from: 'ldap' }),
    claims: (user) => ({ email: user.email }),
  },
})
