import type { Options } from '../../options/options.ts'
import type { Client } from '../../protocol/clients/client.ts'
import type { Write } from '../../storage/database/statement.ts'
import type { Condition } from '../../storage/database/transaction.ts'
import type { Database } from '../../storage/database/types.ts'

/** A grant to a client, with the time of its end. */
export interface Granted {
  /** When everything of it is over, in epoch seconds. */
  readonly until: number
  /** Epoch seconds. */
  readonly now: number
}

/** Data of a feature about clients. The rows outlive the feature, so this also runs after `.off()`. */
export interface ClientData {
  /** Removes every row about a client that is being deleted. It can be repeated after an error. */
  erase(database: Database, clientId: string): Promise<void>
  /** Of a feature whose clients describe themselves. */
  readonly selfDescription?: ClientSelfDescription
  /** Of a feature whose clients belong to users. */
  readonly ownership?: ClientOwnership
}

/** Data of a feature about clients that describe themselves. */
export interface ClientSelfDescription {
  /** Runs in the transaction in which the host, or a user, takes over a client that described itself. */
  takeOver(tx: Database, clientId: string): Promise<void>
  /**
   * Conditions and writes for the moment when this client gets an authorization, or a token of its own.
   *
   * @returns a condition, which does not hold if the client has been removed; undefined if there is none
   */
  whenGranted(client: Pick<Client, 'clientId' | 'metadata'>, granted: Granted): Write | undefined
  /** Runs in the transaction in which the host disables a client, after the client is written. */
  disable(tx: Database, clientId: string): Promise<unknown>
  /** Scopes that the host keeps from a client whose scope follows the resources. */
  withheldScopes(options: Options, client: Client): readonly string[]
}

/** Which clients belong to which users, and which of them wait for a decision of the host. */
export interface ClientOwnership {
  /**
   * Runs in the transaction in which the host enables a client, before the client is written.
   *
   * @throws OAuthError if the client waits for a decision, which enabling must not replace
   */
  enable(tx: Database, values: { clientId: string; now: number }): Promise<unknown>
  /** The ids of clients that belong to users. A list of the host's clients does not remove them. */
  listOwned(database: Database): Promise<readonly string[]>
  /** The user who owns a client; undefined for a client of the host. */
  ownerOf(database: Database, clientId: string): Promise<string | undefined>
  /** Whether a client was never approved, and is disabled for that reason; undefined for any other client. */
  approvalOf(database: Database, clientId: string): Promise<'waiting' | 'refused' | undefined>
  /** The ids of the clients of a user. */
  listOwnedBy(database: Database, subject: string): Promise<readonly string[]>
  /** Those of at most 100 clients that wait for a decision of the host; without a list, the first 100 of all that wait. */
  listWaiting(database: Database, among?: readonly string[]): Promise<readonly WaitingClient[]>
}

/** A client that waits for a decision of the host. */
export interface WaitingClient {
  readonly clientId: string
  /** Whether it was never approved, and is disabled until then; otherwise a change of it waits. */
  readonly isNew: boolean
}

/** The features of the list, which may store something about clients. */
export type Installed = readonly {
  readonly storage?: { readonly clients: ClientData | undefined } | undefined
}[]

/** The tables of the features with data about clients. */
export const clientDataIn = (installed: Installed): ClientData[] =>
  installed.flatMap(({ storage }) => storage?.clients ?? [])

/** The features by which clients describe themselves. */
export const selfDescriptionsIn = (installed: Installed): ClientSelfDescription[] =>
  clientDataIn(installed).flatMap(({ selfDescription }) => selfDescription ?? [])

/** The features in which clients belong to users. */
export const ownershipsIn = (installed: Installed): ClientOwnership[] =>
  clientDataIn(installed).flatMap(({ ownership }) => ownership ?? [])

/** The condition under which a client gets something: it has not been removed. A client that describes itself stays from now on. */
export const whenGranted = (
  { installed }: { readonly installed: Installed },
  client: Client,
  granted: Granted,
): Condition<'gone'>[] =>
  selfDescriptionsIn(installed)
    .flatMap((each) => each.whenGranted(client, granted) ?? [])
    .map((condition) => ['gone', condition])
