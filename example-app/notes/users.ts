import { verify } from '@node-rs/bcrypt'
import { database } from './database.ts'

/** A row of `users`. Timestamps have the driver's type, or are null. */
export interface User {
  id: number
  email: string
  password_hash: string
  full_name: string
  confirmed_at: string | null
  disabled_at: string | null
}

/** The user with this id; undefined if it does not exist or is disabled. */
export const findUser = (id: number): Promise<User | undefined> =>
  database<User>('users').where({ id, disabled_at: null }).first()

/** The user with these credentials; undefined if they are wrong or the user is disabled. */
export const authenticate = async (email: string, password: string): Promise<User | undefined> => {
  const user = await database<User>('users')
    .where({ email: email.trim().toLowerCase(), disabled_at: null })
    .first()
  return user && (await verify(password, user.password_hash)) ? user : undefined
}
