import type { Row, Value } from './types.ts'

// What pg does not document about its queries. test/repositories/driver.test.ts checks it against the installed version.

/** A statement for PostgreSQL. With a name it is prepared once per connection. */
export interface PgStatement {
  readonly name?: string
  readonly text: string
  readonly values: readonly Value[]
}

export interface PgResult {
  readonly rows: readonly Row[]
  readonly rowCount: number | null
}

/** The messages of PostgreSQL's extended protocol that a query of pg sends. */
interface PgMessages {
  readonly stream: { readonly writable: boolean; write(bytes: Buffer): unknown }
  parse(message: object): void
  bind(message: object): void
  execute(message: object): void
}

type Done = (error: Error | null, result: PgResult | undefined) => void

/** pg's own query. Its result holds rows, and how they are read from the messages of the server. */
interface Query {
  name: string | undefined
  readonly text: string
  readonly values: readonly Value[]
  readonly binary?: boolean
  _result: object
  _accumulateRows?: boolean
  prepare(messages: PgMessages): void
  requiresPreparation(): boolean
  submit(messages: PgMessages): Error | null
  handleCommandComplete(message: object, messages: PgMessages): void
  handleReadyForQuery(messages: PgMessages): void
}

type QueryClass = new (text: string, values: readonly Value[]) => Query

interface PgConnection {
  query(query: Query, done: Done): unknown
}

/** pg's class of queries; undefined for pg-native, whose queries are made otherwise. */
const queryClassOf = (connection: unknown): QueryClass | undefined => {
  const { Query } = (connection as object).constructor as { Query?: QueryClass }
  return typeof Query?.prototype.prepare === 'function' ? Query : undefined
}

// https://www.postgresql.org/docs/current/protocol-message-formats.html

/** Execute for all rows of the unnamed portal, and Sync. */
const executeAndSync = Buffer.from([...[0x45, 0, 0, 0, 9, 0, 0, 0, 0, 0], ...[0x53, 0, 0, 0, 4]])

/** Parse, Bind and Execute of an unnamed statement without parameters and without rows. */
const runMessages = (text: string): Buffer => {
  const parse = Buffer.from(`P\0\0\0\0\0${text}\0\0\0`)
  parse.writeUInt32BE(parse.length - 1, 1)
  const bind = Buffer.from([0x42, 0, 0, 0, 12, 0, 0, 0, 0, 0, 0, 0, 0])
  return Buffer.concat([parse, bind, executeAndSync.subarray(0, 10)])
}

/** Bind, Execute and Sync of a prepared statement, after other messages. All values are sent as strings. */
const bindMessages = (before: Buffer | undefined, name: string, values: readonly Value[]): Buffer => {
  const texts = values.map((value) => (value === null ? null : String(value)))
  const start = before?.length ?? 0
  // The lengths, the ends of two names, and three counts.
  let length = 4 + 1 + Buffer.byteLength(name) + 1 + 2 + 2 + 2 + 4 * texts.length
  for (const text of texts) if (text !== null) length += Buffer.byteLength(text)
  const bytes = Buffer.allocUnsafe(start + 1 + length + executeAndSync.length)
  before?.copy(bytes)
  let place = start
  bytes[place] = 0x42
  place = bytes.writeUInt32BE(length, place + 1)
  bytes[place] = 0
  place += 1 + bytes.write(name, place + 1)
  bytes[place] = 0
  place = bytes.writeUInt16BE(0, place + 1)
  place = bytes.writeUInt16BE(texts.length, place)
  for (const text of texts) {
    const written = text === null ? -1 : bytes.write(text, place + 4)
    bytes.writeInt32BE(written, place)
    place += 4 + Math.max(written, 0)
  }
  place = bytes.writeUInt16BE(0, place)
  executeAndSync.copy(bytes, place)
  return bytes
}

/** Sends another statement before the messages of a query. */
const withFirst = (messages: PgMessages, first: string, name: string | undefined): PgMessages => {
  // pg takes the first ParseComplete for that of a named query, so the query's own Parse message goes first; an
  // unnamed query shares the unnamed statement with `first`, so there it goes second.
  const place = name === undefined ? 'parse' : 'bind'
  const insert = (message: object): void => {
    messages.parse({ text: first })
    messages.bind({})
    messages.execute({})
    messages[place](message)
  }
  return Object.create(messages, { [place]: { value: insert } })
}

/** Runs a statement, after `first` if it is given. */
export type PgRun = (
  connection: unknown,
  statement: PgStatement,
  first?: string,
) => Promise<PgResult> | undefined

/**
 * Runs statements on connections of pg, with pg's own class of queries. A statement that the connection has run before is
 * one write of three messages: pg itself asks for the description of the columns each time, which takes half of the time.
 *
 * A statement without parameters may go first, before the same Sync message: if it fails, the server skips the other.
 *
 * @returns a function that returns the result; undefined if the driver cannot do this
 */
export const createPgRun = (): PgRun => {
  /** How the rows of statements that have a name are read, by connection. */
  const described = new WeakMap<object, Map<string, object>>()
  const firstMessages = new Map<string, Buffer>()
  const classes = new WeakMap<QueryClass, ReturnType<typeof statementClass>>()

  const messagesFor = (first: string): Buffer => {
    const messages = firstMessages.get(first) ?? runMessages(first)
    firstMessages.set(first, messages)
    return messages
  }

  const statementClass = (PgQuery: QueryClass) =>
    class extends PgQuery {
      #first: string | undefined
      #isFirstDone = false
      #results: Map<string, object>

      constructor(statement: PgStatement, first: string | undefined, results: Map<string, object>) {
        // Of an object pg would make a slow copy.
        super(statement.text, statement.values)
        this.name = statement.name
        this.#first = first
        this.#results = results
      }

      override submit(messages: PgMessages): Error | null {
        const { name } = this
        const known = name === undefined || this.binary ? undefined : this.#results.get(name)
        if (name === undefined || known === undefined) return super.submit(messages)
        Object.assign(this._result, known, { rows: [] })
        this._accumulateRows = true
        const before = this.#first === undefined ? undefined : messagesFor(this.#first)
        if (messages.stream.writable) messages.stream.write(bindMessages(before, name, this.values))
        return null
      }

      override requiresPreparation(): boolean {
        return this.#first !== undefined || super.requiresPreparation()
      }

      override prepare(messages: PgMessages): void {
        super.prepare(this.#first === undefined ? messages : withFirst(messages, this.#first, this.name))
      }

      override handleCommandComplete(message: object, messages: PgMessages): void {
        if (this.#first !== undefined && !this.#isFirstDone) this.#isFirstDone = true
        else super.handleCommandComplete(message, messages)
      }

      override handleReadyForQuery(messages: PgMessages): void {
        if (this.name !== undefined && !this.#results.has(this.name))
          this.#results.set(this.name, { ...this._result, command: null, rowCount: null, rows: [] })
        super.handleReadyForQuery(messages)
      }
    }

  const resultsOf = (connection: object): Map<string, object> => {
    const known = described.get(connection)
    if (known) return known
    const results = new Map<string, object>()
    described.set(connection, results)
    return results
  }

  return (connection, statement, first) => {
    const PgQuery = queryClassOf(connection)
    if (PgQuery === undefined) return undefined
    const Statement = classes.get(PgQuery) ?? statementClass(PgQuery)
    classes.set(PgQuery, Statement)
    return new Promise((resolve, reject) => {
      const done: Done = (error, result) => {
        if (error) reject(error)
        else if (result === undefined) reject(new Error('pg returned no result'))
        else resolve(result)
      }
      const query = new Statement(statement, first, resultsOf(connection as object))
      ;(connection as PgConnection).query(query, done)
    })
  }
}
