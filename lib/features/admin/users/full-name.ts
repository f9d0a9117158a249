import type { User } from '../../../users/users.ts'
import type { OperatorContext } from '../../../web/endpoints/operator-page.ts'

/** The full name, if it is another one than the login name. The page is there without it, too. */
export const fullNameOf = async ({ server }: OperatorContext, user: User): Promise<string | undefined> => {
  try {
    const name = await server.users.fullName(user)
    return name === user.username ? undefined : name
  } catch (error) {
    server.options.logger.error('latchkey: the name of a user could not be read', error)
    return undefined
  }
}
