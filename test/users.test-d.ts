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
