import { secretFileOf } from '../../keys/left-secret.ts'
import { findPairwiseSalt } from '../../keys/pairwise-salt.ts'
import { openJwk, undecryptable } from '../../keys/sealed-jwk.ts'
import { listSigningKeys } from '../../storage/repositories/signing-keys.ts'
import { type Check, error, type Found, type StoredSubject } from '../check.ts'

/** Whether the secrets open what a server reads at its start. */
const secretFindings = async ({ database, options }: StoredSubject): Promise<Found> => {
  const keys = await listSigningKeys(database)
  const sealed = [
    ...keys.map(({ kid, sealedKey }) => ({ what: `the signing key ${kid}`, value: sealedKey })),
    { what: 'the pairwise salt', value: await findPairwiseSalt(database) },
  ]
  const closed = sealed.find(({ value }) => value !== undefined && !openJwk(options.secrets, value))
  if (closed?.value === undefined) return undefined
  const { problem, fix } = undecryptable(closed.what)
  const place = secretFileOf(options, closed.value)
  return error(place === undefined ? problem : `${problem}: ${place}`, fix)
}

/** Checks of what the secrets encrypt. A server makes them itself when it starts. */
export const secretChecks: readonly Check<StoredSubject>[] = [
  { id: 'secrets', title: 'the secrets open the keys in the database', run: secretFindings },
]
