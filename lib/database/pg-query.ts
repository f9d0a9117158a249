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

interface CommandComplete {
  readonly text: string
}

type Done = (error: Error | null) => void

/** pg's own query. Its result holds rows, and how they are read from the messages of the server. */
interface Query {
  name: string | undefined
  readonly text: string
  readonly values: readonly Value[]
  readonly binary?: boolean
  _result: Pick<PgResult, 'rows'>
  _accumulateRows?: boolean
  prepare(messages: PgMessages): void
  requiresPreparation(): boolean
  submit(messages: PgMessages): Error | null
  handleCommandComplete(message: CommandComplete): void
  handleReadyForQuery(messages: PgMessages): void
}

type QueryClass = new (text: string, values: readonly Value[]) => Query

interface PgConnection {
  /** Whether rows are to come in binary, which the server must be told for each statement. */
  readonly binary?: boolean
  query(query: Query, done: Done): unknown
}

/** pg's class of queries; undefined for pg-native, whose queries are made otherwise. */
const queryClassOf = (connection: unknown): QueryClass | undefined => {
  const { Query } = (connection as object).constructor as { Query?: QueryClass }
  return typeof Query?.prototype.prepare === 'function' ? Query : undefined
}

// https://www.postgresql.org/docs/current/protocol-message-formats.html

/** Execute for all rows of the unnamed portal. */
const executeMessage = Buffer.from([0x45, 0, 0, 0, 9, 0, 0, 0, 0, 0])
const syncMessage = Buffer.from([0x53, 0, 0, 0, 4])

/** Parse, Bind and Execute of an unnamed statement without parameters and without rows. */
const runMessages = (text: string): Buffer => {
  const parse = Buffer.from(`P\0\0\0\0\0${text}\0\0\0`)
  parse.writeUInt32BE(parse.length - 1, 1)
  const bind = Buffer.from([0x42, 0, 0, 0, 12, 0, 0, 0, 0, 0, 0, 0, 0])
  return Buffer.concat([parse, bind, executeMessage])
}

/** The values of a prepared statement as they are sent, and the length of its Bind message after the type, in bytes. */
const toBind = ({ name = '', values }: PgStatement) => {
  const texts = values.map((value) => (value === null ? null : String(value)))
  // The lengths, the ends of two names, and three counts.
  let length = 4 + 1 + Buffer.byteLength(name) + 1 + 2 + 2 + 2 + 4 * texts.length
  for (const text of texts) if (text !== null) length += Buffer.byteLength(text)
  return { name, texts, length }
}

/** Writes Bind and Execute of a prepared statement. @returns the place after them */
const writeBind = (
  bytes: Buffer,
  start: number,
  { name, texts, length }: ReturnType<typeof toBind>,
): number => {
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
  return place + executeMessage.copy(bytes, place)
}

/** Bind and Execute of each prepared statement, between `before` and one Sync. */
const messagesOf = (before: Buffer | undefined, statements: readonly PgStatement[]): Buffer => {
  const binds = statements.map(toBind)
  let length = (before?.length ?? 0) + syncMessage.length
  for (const bind of binds) length += 1 + bind.length + executeMessage.length
  const bytes = Buffer.allocUnsafe(length)
  let place = before?.copy(bytes) ?? 0
  for (const bind of binds) place = writeBind(bytes, place, bind)
  syncMessage.copy(bytes, place)
  return bytes
}

/** The number of rows in a CommandComplete message, such as `INSERT 0 1`; zero for a statement without one. */
const rowsIn = ({ text }: CommandComplete): number => Number(text.slice(text.lastIndexOf(' ') + 1)) || 0

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

/** Runs statements together, after `first` if it is given. */
export type PgRun = (
  connection: unknown,
  statements: readonly PgStatement[],
  first?: string,
) => Promise<readonly PgResult[]> | undefined

/**
 * Runs statements on connections of pg, with pg's own class of queries. Statements that the connection has run before
 * are one write with one Sync message at its end: after one that fails, the server skips the others. pg itself asks for
 * the description of the columns each time, which takes half of the time.
 *
 * A statement without parameters may go first, before the same Sync message.
 *
 * @returns a function that returns the results; undefined if the connection cannot do this, or if one of several
 *   statements has not run on it yet
 */
export const createPgRun = (): PgRun => {
  /** How the rows of statements that have a name are read, by connection. */
  const described = new WeakMap<object, Map<string, object>>()
  const firstMessages = new Map<string, Buffer>()
  const classes = new WeakMap<QueryClass, ReturnType<typeof statementsClass>>()

  const messagesFor = (first: string): Buffer => {
    const messages = firstMessages.get(first) ?? runMessages(first)
    firstMessages.set(first, messages)
    return messages
  }

  const statementsClass = (PgQuery: QueryClass) =>
    class extends PgQuery {
      readonly answers: PgResult[] = []
      #statements: readonly PgStatement[]
      #first: string | undefined
      #isFirstDone = false
      #results: Map<string, object>

      constructor(
        statements: readonly PgStatement[],
        first: string | undefined,
        results: Map<string, object>,
      ) {
        const [only] = statements.length === 1 ? statements : []
        // Of an object pg would make a slow copy. Tracing tools show the text.
        super(statements.map(({ text }) => text).join(';\n'), only?.values ?? [])
        this.name = only?.name
        this.#statements = statements
        this.#first = first
        this.#results = results
      }

      override submit(messages: PgMessages): Error | null {
        if (this.binary || !this.#expect(0)) return super.submit(messages)
        this._accumulateRows = true
        const before = this.#first === undefined ? undefined : messagesFor(this.#first)
        if (messages.stream.writable) messages.stream.write(messagesOf(before, this.#statements))
        return null
      }

      /** Prepares for the rows of a statement, if it is known how to read them. */
      #expect(place: number): boolean {
        const name = this.#statements[place]?.name
        const known = name === undefined ? undefined : this.#results.get(name)
        if (known === undefined) return false
        const result = place === 0 ? this._result : Object.create(Object.getPrototypeOf(this._result))
        this._result = Object.assign(result, known, { rows: [] })
        return true
      }

      override requiresPreparation(): boolean {
        return this.#first !== undefined || super.requiresPreparation()
      }

      override prepare(messages: PgMessages): void {
        super.prepare(this.#first === undefined ? messages : withFirst(messages, this.#first, this.name))
      }

      override handleCommandComplete(message: CommandComplete): void {
        if (this.#first !== undefined && !this.#isFirstDone) {
          this.#isFirstDone = true
          return
        }
        // pg reads the number with a regular expression, and makes a list of several results.
        this.answers.push(Object.assign(this._result, { rowCount: rowsIn(message) }))
        this.#expect(this.answers.length)
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

  return (connection, statements, first) => {
    const PgQuery = queryClassOf(connection)
    if (PgQuery === undefined) return undefined
    const { binary = false } = connection as PgConnection
    const results = resultsOf(connection as object)
    const areKnown = !binary && statements.every(({ name = '' }) => results.has(name))
    if (statements.length > 1 && !areKnown) return undefined
    const Statements = classes.get(PgQuery) ?? statementsClass(PgQuery)
    classes.set(PgQuery, Statements)
    return new Promise((resolve, reject) => {
      const query = new Statements(statements, first, results)
      const done: Done = (error) => {
        if (error) reject(error)
        else resolve(query.answers)
      }
      ;(connection as PgConnection).query(query, done)
    })
  }
}
