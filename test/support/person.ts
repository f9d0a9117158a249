import type { UserFunctions } from '../../lib/index.ts'

/** Everything that OIDC Core §5.1 defines, with its types, and two claims of the host's own. */
export const everyClaim = {
  name: 'Grace Hopper',
  family_name: 'Hopper',
  given_name: 'Grace',
  middle_name: 'Brewster',
  nickname: 'Amazing Grace',
  preferred_username: 'grace',
  profile: 'https://people.example.com/grace',
  picture: 'https://people.example.com/grace.png',
  website: 'https://grace.example.com/',
  gender: 'female',
  birthdate: '1906-12-09',
  zoneinfo: 'America/New_York',
  locale: 'en-US',
  updated_at: 1_700_000_000,
  email: 'grace@example.com',
  email_verified: true,
  address: { street_address: '1 Main Street', locality: 'Arlington', country: 'US' },
  phone_number: '+1 555 0100',
  phone_number_verified: false,
  roles: ['admiral'],
  rank: 7,
}

/** The one account of {@link onePerson}. */
export const grace = { email: 'grace', password: 'grace’s password' }

/**
 * Users behind functions: one person with every claim.
 *
 * @param more claims that the host gives beside them, or instead
 */
export const onePerson = (more: Readonly<Record<string, unknown>> = {}): UserFunctions => {
  const person = { id: 'grace-1', username: grace.email }
  return {
    find: (id) => (id === person.id ? person : undefined),
    authenticate: ({ username, password }) =>
      username === grace.email && password === grace.password ? person : undefined,
    claims: () => ({ ...everyClaim, ...more }),
  }
}
