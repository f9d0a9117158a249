import type { AllowedUser } from '../../lib/oauth/tokens/allowed.ts'

/** A user whom a host allows, for tests below the place where the host is asked. */
export const allowedUserOf = (subject: string): AllowedUser =>
  ({ subject, username: 'ada', record: { id: Number(subject) } }) as unknown as AllowedUser
