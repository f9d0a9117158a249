// A disk that is full, and a file that may not grow: writes are answered with 503, reads work, and nothing is half
// written.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import knex, { type Knex } from 'knex'
import supertest from 'supertest'
import { temporarilyUnavailable } from '../../lib/protocol/refusal.ts'
import { isRetryable, needsReconnect } from '../../lib/storage/database/errors.ts'
import { databaseOn, sqliteAt } from '../support/database.ts'
import { type FaultDatabase, openFaultDatabase, silence } from '../support/fault-databases.ts'
import {
  familyOf,
  isActive,
  postToken,
  prepareDatabase,
  redemption,
  refreshing,
  type SignedIn,
  sharedOptions,
  signIn,
  userinfoStatus,
} from '../support/fault-family.ts'
import { describeUnless, describeWhere, notAsked, until } from '../support/fault-programs.ts'
import { type FaultServer, startServer } from '../support/fault-servers.ts'
import { authorizeUrl } from '../support/host.ts'
import { codeOf, expectErrorPage, expectUnavailable } from '../support/outcomes.ts'
import { RawBrowser } from '../support/raw-browser.ts'
import { sampleOf, testsAll } from '../support/sample.ts'
import { web } from '../support/tokens.ts'
import { type Disk, missingMount, openLimitedFolder, openSmallDisk } from './disks.ts'
import { missingServer, openInstance } from './instance-kinds.ts'
import type { Instance } from './instances.ts'

const file = 'latchkey.sqlite'

const openedAt = (folder: string): FaultDatabase => {
  const config = sqliteAt(join(folder, file))
  return { ...databaseOn(knex(config)), kind: 'SQLite', config }
}

/** @param isAlone whether Latchkey is the only one that has the file open */
const onDisk = (openDisk: () => Disk, cause: RegExp, isAlone: boolean): void => {
  let disk: Disk | undefined
  let company: FaultDatabase | undefined
  let kit: FaultServer | undefined
  let ada: SignedIn
  let copies = ''

  beforeAll(async () => {
    copies = mkdtempSync(join(tmpdir(), 'latchkey-copies-'))
    disk = openDisk()
    company = openedAt(disk.path)
    await prepareDatabase(company)
    if (isAlone) await company.close()
    kit = await startServer({ ...sharedOptions(company), printing: true })
    // One that has read holds the file open.
    if (!isAlone) await company.knex('latchkey_clients')
    ada = await signIn(kit.origin)
  })
  afterAll(async () => {
    await kit?.kill()
    await company?.close()
    disk?.close()
    rmSync(copies, { recursive: true, force: true })
  })

  /** What is on the disk, through a copy. */
  const onCopy = async <T>(look: (database: FaultDatabase) => Promise<T>): Promise<T> => {
    // By another process: to close a file here would give up what SQLite has locked in it, too.
    execFileSync('cp', [...[file, `${file}-wal`].map((name) => join(disk!.path, name)), copies])
    const database = openedAt(copies)
    try {
      expect(await database.knex.raw('PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }])
      return await look(database)
    } finally {
      await database.close()
    }
  }
  /** Every row of every table. */
  const everything = (): Promise<unknown> =>
    onCopy(async ({ knex: copy }) => {
      const tables: { name: string }[] = await copy('sqlite_master').where({ type: 'table' })
      const rows: Record<string, unknown> = {}
      for (const { name } of tables) rows[name] = await copy(name)
      return rows
    })

  test('answers writes with 503, serves reads, and loses nothing', async () => {
    const { origin } = kit!
    const post = (path: string, fields: object) =>
      supertest(origin)
        .post(`/oauth/${path}`)
        .type('form')
        .send(fields)
        .ok(() => true)
    const code = await ada.code()
    const unused = await ada.code()
    const { body: tokens } = await postToken(origin, redemption(code))
    const visitor = new RawBrowser(origin)
    const loginPage = await visitor.open(authorizeUrl({ client_id: 'web', scope: 'openid' }))

    disk!.fill(kit!.pid)
    const before = await everything()
    const logged = kit!.printed().length
    const writes = [
      ...Array.from({ length: 20 }, () => post('token', refreshing(tokens.refresh_token))),
      post('token', redemption(unused)),
      post('token', { grant_type: 'client_credentials', ...web }),
      post('revoke', { token: tokens.refresh_token, ...web }),
    ]
    for (const { status, body, headers } of await Promise.all(writes)) {
      expect({ status, body }).toEqual({
        status: 503,
        body: {
          error: 'temporarily_unavailable',
          error_description: expect.any(String),
          error_id: expect.any(String),
        },
      })
      expect(headers['retry-after']).toMatch(/^[1-9]\d*$/)
    }
    expectUnavailable(await visitor.signIn(loginPage))
    expectErrorPage(
      await new RawBrowser(origin).get(authorizeUrl({ client_id: 'web', scope: 'openid' })),
      503,
    )

    expect(await userinfoStatus(origin, tokens.access_token)).toBe(200)
    expect(await isActive(origin, tokens.access_token)).toBe(true)
    expect(await isActive(origin, tokens.refresh_token)).toBe(true)
    for (const path of ['jwks', '.well-known/openid-configuration']) {
      expect((await supertest(origin).get(`/oauth/${path}`)).status).toBe(200)
    }
    expect(kit!.isAlive()).toBe(true)
    expect(await everything()).toEqual(before)
    const log = kit!.printed().slice(logged)
    const entries = [...log.matchAll(/^latchkey: temporarily_unavailable (\S+) (.*)$/gm)]
    // The reason is told for each request that was refused and for no other; a session that cannot be saved says so, too.
    expect(new Set(entries.map(([, id]) => id)).size).toBe(writes.length + 2)
    expect(entries.filter(([, , what = '']) => cause.test(what))).toHaveLength(writes.length + 2)
    expect(log.match(/^latchkey: /gm)).toHaveLength(entries.length)

    disk!.free(kit!.pid)
    const next = await postToken(origin, refreshing(tokens.refresh_token))
    expect(next.status).toBe(200)
    expect((await postToken(origin, redemption(unused))).status).toBe(200)
    codeOf(await visitor.grant(loginPage.url.href))
    expect(await onCopy((database) => familyOf(database, code))).toEqual({
      consumed: true,
      revoked: false,
      accessTokens: 2,
      refreshTokens: { used: 1, unused: 1 },
    })
    expect(kit!.isAlive()).toBe(true)
  })
}

/** What becomes full under a server, and how it says so. */
interface FullServer {
  readonly kind: 'PostgreSQL' | 'MariaDB'
  readonly parameters?: readonly string[]
  readonly code: string
  prepare?(database: Knex): Promise<void>
  fill(database: Knex): Promise<void>
  free(instance: Instance): Promise<void>
}

const onServer = ({ kind, parameters = [], code: faultCode, ...space }: FullServer): void => {
  let instance: Instance | undefined
  let database: FaultDatabase | undefined
  let kit: FaultServer | undefined

  const openDatabase = async () => {
    instance = await openInstance(kind, parameters)
    await instance.start()
    const own = (config: Knex.Config) => ({ ...config, log: silence })
    const open = () => openFaultDatabase(kind, { url: instance!.url, own })
    const first = open()
    await space.prepare?.(first.knex)
    await first.knex.destroy()
    database = open()
    await prepareDatabase(database)
    return { ...sharedOptions(database), printing: true }
  }
  beforeAll(async () => {
    kit = await startServer(openDatabase())
  })
  afterAll(async () => {
    await kit?.kill()
    await database?.knex.destroy()
    await instance?.close()
  })

  test('no client loses its token, and writes work when there is space again', async () => {
    const { origin } = kit!
    const ada = await signIn(origin)
    const code = await ada.code()
    let { refresh_token: token, access_token: access } = (await postToken(origin, redemption(code))).body
    let refreshes = 0
    const refresh = async (): Promise<number> => {
      const { status, body } = await postToken(origin, refreshing(token))
      if (status === 200) {
        refreshes += 1
        token = body.refresh_token
        access = body.access_token
      } else {
        expect({ status, error: body.error }).toEqual({ status: 503, error: 'temporarily_unavailable' })
      }
      return status
    }

    await space.fill(database!.knex)
    // What is left in pages that have been begun is used up first.
    for (let more = 0; (await refresh()) !== 503; more += 1) if (more === 2000) throw new Error('never full')
    for (let again = 0; again < 5; again += 1) await refresh()
    expect(await userinfoStatus(origin, access)).toBe(200)
    expect(await isActive(origin, token)).toBe(true)
    expect(kit!.printed()).toContain(`code: '${faultCode}'`)
    const used = refreshes
    expect(await familyOf(database!, code)).toMatchObject({
      revoked: false,
      accessTokens: 1 + used,
      refreshTokens: { used, unused: 1 },
    })

    await space.free(instance!)
    await until('it goes on', async () => {
      await refresh()
      return refreshes >= used + 20
    })
    expect(await familyOf(database!, code)).toMatchObject({
      revoked: false,
      refreshTokens: { used: used + 20, unused: 1 },
    })
    expect(kit!.isAlive()).toBe(true)
  })
}

const full = /database or disk is full/
const failing = /disk I\/O error/

describeWhere(missingMount(), 'a disk that is full', () => onDisk(() => openSmallDisk(4), full, false))
if (testsAll) describe('a file that may not grow', () => onDisk(openLimitedFolder, failing, false))
describe('a file that may not grow, of a lone process', () => onDisk(openLimitedFolder, failing, true))

test.each([
  'SQLITE_FULL',
  'SQLITE_IOERR_WRITE',
  'SQLITE_IOERR_FSYNC',
  '53100',
  'ER_DISK_FULL',
  'ER_RECORD_FILE_FULL',
])('%s is final: no request waits for a disk that is full', (code) => {
  const error = Object.assign(new Error('no space left'), { code })
  expect([isRetryable(error), needsReconnect(error)]).toEqual([false, false])
  expect(temporarilyUnavailable(error)).toMatchObject({ status: 503, cause: error })
})

const withoutSpace = {
  PostgreSQL: () =>
    describeWhere(
      notAsked() ?? missingMount() ?? missingServer.PostgreSQL(),
      'a PostgreSQL that has no space',
      () => {
        let disk: Disk | undefined
        onServer({
          kind: 'PostgreSQL',
          code: '53100',
          prepare: async (database) => {
            disk = openSmallDisk(16, 'postgres')
            await database.raw(`CREATE TABLESPACE small LOCATION '${disk.path}'`)
            await database.raw('ALTER DATABASE postgres SET default_tablespace = small')
          },
          fill: async () => disk?.fill(0),
          free: async () => disk?.free(0),
        })
        // After its server has gone.
        afterAll(() => disk?.close())
      },
    ),
  MariaDB: () =>
    describeUnless(missingServer.MariaDB(), 'a MariaDB that has no space', () =>
      onServer({
        kind: 'MariaDB',
        parameters: [
          '--innodb-file-per-table=OFF',
          '--innodb-autoextend-increment=1',
          '--innodb-data-file-path=ibdata1:12M:autoextend:max:20M',
        ],
        code: 'ER_RECORD_FILE_FULL',
        fill: async (database) => {
          // Rows that fit on a page: MariaDB 10.11.19 itself crashes when a page for a longer column cannot be had.
          await database.raw('CREATE TABLE ballast (content VARBINARY(7000)) ENGINE=InnoDB')
          for (const rows of [100, 10, 1]) {
            for (;;) {
              const isFull = await database('ballast')
                .insert(Array(rows).fill({ content: Buffer.alloc(7000) }))
                .then(() => false)
                .catch((error: NodeJS.ErrnoException) => {
                  if (error.code === 'ER_RECORD_FILE_FULL') return true
                  throw error
                })
              if (isFull) break
            }
          }
        },
        free: async (instance) => {
          await instance.stop()
          await instance.start(['--innodb-data-file-path=ibdata1:12M:autoextend:max:64M'])
        },
      }),
    ),
}
for (const kind of sampleOf(['PostgreSQL', 'MariaDB'] as const, 1)) withoutSpace[kind]()
