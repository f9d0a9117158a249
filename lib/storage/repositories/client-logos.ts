import type { ClientLogo } from '../../protocol/clients/client.ts'
import { command, insertInto, query, textOf } from '../database/statement.ts'
import { transaction } from '../database/transaction.ts'
import type { Database } from '../database/types.ts'
import { findOne } from './statements.ts'

/** An image that a client has as its logo. */
export interface LogoImage {
  /** SHA-256 in base64url. */
  readonly hash: string
  /** The media type. */
  readonly type: string
  readonly body: Buffer
}

/** The image with this hash, whichever client has it. */
export const findLogo = findOne(
  query<{ hash: string }>((table, v) =>
    table('client_logos')
      .select(['hash', 'type', 'body'])
      .where({ hash: v.hash })
      .limit(1, { skipBinding: true }),
  ),
  (row): LogoImage => ({
    hash: textOf(row, 'hash'),
    type: textOf(row, 'type'),
    body: Buffer.from(textOf(row, 'body'), 'base64'),
  }),
)

interface Change {
  clientId: string
  /** The present value of the column; the change fails if another process was first. */
  from: string
  to: string
}

const setFirst = command<Omit<Change, 'from'>>((table, v) =>
  table('clients').where({ client_id: v.clientId }).whereNull('logo').update({ logo: v.to }),
)
const replace = command<Change>((table, v) =>
  table('clients').where({ client_id: v.clientId, logo: v.from }).update({ logo: v.to }),
)
const set = command<{ clientId: string; logo: string | null }>((table, v) =>
  table('clients').where({ client_id: v.clientId }).update({ logo: v.logo }),
)
const insert = insertInto('client_logos')

/** Removes the image of a client. */
export const deleteLogo = command<{ clientId: string }>((table, v) =>
  table('client_logos').where({ client_id: v.clientId }).delete(),
)

const storeImage = async (db: Database, clientId: string, { hash, type, body }: LogoImage): Promise<void> => {
  await deleteLogo(db, { clientId })
  await insert(db, { client_id: clientId, hash, type, body: body.toString('base64') })
}

/**
 * Changes what is known about the logo of a client, and stores a new image.
 *
 * @param change.from undefined if nothing is known yet
 * @returns false if another process was first; then nothing changes
 */
export const changeLogo = (
  db: Database,
  { clientId, from, to, image }: { clientId: string; from?: ClientLogo; to: ClientLogo; image?: LogoImage },
): Promise<boolean> =>
  transaction(db, async (tx) => {
    const values = { clientId, to: JSON.stringify(to) }
    const count = from
      ? await replace(tx, { ...values, from: JSON.stringify(from) })
      : await setFirst(tx, values)
    if (count === 1 && image) await storeImage(tx, clientId, image)
    return count === 1
  })

/** Sets the logo of a client, or removes it. Call it in a transaction. */
export const setLogo = async (
  tx: Database,
  { clientId, logo, image }: { clientId: string; logo?: ClientLogo; image?: LogoImage },
): Promise<void> => {
  await set(tx, { clientId, logo: logo ? JSON.stringify(logo) : null })
  if (image) await storeImage(tx, clientId, image)
  else await deleteLogo(tx, { clientId })
}
