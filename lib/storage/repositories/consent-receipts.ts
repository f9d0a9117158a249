import type { ConsentReceipt } from '../../protocol/requests/consent.ts'
import { command, insertInto, json, numberOf, query, textOf, type Write } from '../database/statement.ts'
import type { Database } from '../database/types.ts'
import { type BatchParams, keysIn } from './pruning/batch.ts'
import { readInBatches } from './read-in-batches.ts'

const insert = insertInto('consent_receipts')

export interface NewConsentReceipt {
  readonly id: string
  readonly subject: string
  readonly clientId: string
  /** The authorization that was issued. */
  readonly authorizationId: string
  readonly receipt: ConsentReceipt
  readonly now: number
}

/** Stores what a user was shown when they allowed a client. A receipt never changes, and stays when the consent is removed. */
export const createConsentReceipt = (values: NewConsentReceipt): Write =>
  insert.with({
    id: values.id,
    subject: values.subject,
    client_id: values.clientId,
    authorization_id: values.authorizationId,
    receipt: JSON.stringify(values.receipt),
    created_at: values.now,
  })

/** A stored receipt. */
export interface ConsentReceiptRecord extends ConsentReceipt {
  readonly clientId: string
  readonly authorizationId: string
  /** Epoch seconds. */
  readonly createdAt: number
}

const idsOfSubject = query<{ subject: string }>((table, v) =>
  table('consent_receipts').select('id').where({ subject: v.subject }).orderBy(['created_at', 'id']),
)

const byIds = query<BatchParams>((table, v) =>
  table('consent_receipts')
    .select(['subject', 'client_id', 'authorization_id', 'receipt', 'created_at'])
    .whereIn('id', keysIn(v))
    .orderBy(['created_at', 'id']),
)

/** The receipts of a user, oldest first. */
export const listConsentReceipts = async (
  db: Database,
  values: { subject: string },
): Promise<ConsentReceiptRecord[]> => {
  const ids = (await idsOfSubject(db, values)).map((row) => textOf(row, 'id'))
  return (await readInBatches(db, ids, byIds)).map((row) => ({
    clientId: textOf(row, 'client_id'),
    authorizationId: textOf(row, 'authorization_id'),
    createdAt: numberOf(row, 'created_at'),
    ...json<ConsentReceipt>(row, 'receipt'),
  }))
}

/** Removes the receipts of a user. */
export const removeConsentReceipts = command<{ subject: string }>((table, v) =>
  table('consent_receipts').where({ subject: v.subject }).delete(),
)
