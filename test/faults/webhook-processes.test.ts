import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import knex, { type Knex } from 'knex'
import { migrate } from '../../lib/index.ts'
import { compiledProgram } from '../support/compiled.ts'
import { dropTables } from '../support/database.ts'
import { until } from '../support/fault-programs.ts'
import { kept } from '../support/features.ts'
import { describeWith, services } from '../support/services.ts'
import type { Announced, WebhookProcess } from '../support/webhook-process.ts'
import { openWebhookReceiver, type WebhookReceiver, webhookSecret } from '../support/webhook-receiver.ts'

// Two real processes on one database send to one receiver.

jest.setTimeout(180_000)

/** Events of each user. */
const each = 2

const tablePrefix = `w${process.pid}_`
const children: ChildProcess[] = []
let receiver: WebhookReceiver
let database: Knex

const told = async (child: ChildProcess, message: WebhookProcess | Announced): Promise<void> => {
  child.send(message)
  const [{ fault }] = (await once(child, 'message')) as [{ fault?: string }]
  if (fault !== undefined) throw new Error(fault)
}

const start = async (config: Knex.Config, ahead = 0): Promise<ChildProcess> => {
  const child = fork(compiledProgram('test/support/webhook-process.ts'), { execArgv: [] })
  children.push(child)
  await told(child, { config, tablePrefix, url: receiver.url, secret: webhookSecret, ahead })
  return child
}

const end = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}

/** The order in which the events of each user came for the first time. */
const orders = (): Map<string, string[]> => {
  const seen = new Set<string>()
  const byUser = new Map<string, string[]>()
  for (const { id, body } of receiver.requests.items) {
    if (seen.has(id)) continue
    seen.add(id)
    const subject = String(body.data.subject)
    byUser.set(subject, [...(byUser.get(subject) ?? []), String(body.data.reason)])
  }
  return byUser
}
const duplicates = (): number => {
  const ids = receiver.requests.items.map(({ id }) => id)
  return ids.length - new Set(ids).size
}
const countingTo = (count: number): string[] => Array.from({ length: count }, (_, index) => String(index))
const left = async (): Promise<number> => {
  const [row] = await database(`${tablePrefix}webhook_deliveries`).count({ count: '*' })
  return Number(row?.count)
}
const allSent = (): Promise<void> => until('every event has arrived', async () => (await left()) === 0)

const sends = (config: Knex.Config): void => {
  beforeEach(async () => {
    receiver = await openWebhookReceiver()
    database = knex(config)
    await dropTables(database, tablePrefix)
    await migrate(database, { features: kept, database: { tablePrefix } })
  })
  afterEach(async () => {
    await Promise.all(children.splice(0).map(end))
    await receiver.close()
    await dropTables(database, tablePrefix)
    await database.destroy()
  })

  test('events of two processes each arrive once, in order for each user', async () => {
    const [one, two] = [await start(config), await start(config)]
    await Promise.all([
      told(one, { name: 'one', users: 250, each }),
      told(two, { name: 'two', users: 250, each }),
    ])
    await receiver.requests.until(500 * each)
    await allSent()
    expect(receiver.requests.items).toHaveLength(500 * each)
    expect(duplicates()).toBe(0)
    const order = orders()
    expect(order.size).toBe(500)
    for (const reasons of order.values()) expect(reasons).toEqual(countingTo(each))
    // One process at a time sends, and it has eight requests under way at most.
    expect(receiver.mostAtOnce()).toBeLessThanOrEqual(8)
  })

  test('a revocation that was answered keeps its event and its webhook when the process is killed', async () => {
    const revoked: string[] = []
    // No webhook arrives, so that each still waits.
    receiver.answer((res) => res.writeHead(503).end())
    for (let kill = 0; kill < 8; kill += 1) {
      const child = await start(config)
      const ended = once(child, 'exit')
      child.on('message', (message: { revoked?: string }) => {
        if (message.revoked === undefined) return
        revoked.push(message.revoked)
        if (revoked.length > 5 * kill + 3) child.kill('SIGKILL')
      })
      child.send({ revoking: `user${kill}` })
      await ended
    }
    const stored = await database(`${tablePrefix}events`).where({ type: 'user.revoked' }).pluck('subject')
    const waiting = await database(`${tablePrefix}webhook_deliveries`).pluck('lane')
    expect(revoked.filter((subject) => !stored.includes(subject))).toEqual([])
    expect(revoked.filter((subject) => !waiting.includes(`subject:${subject}`))).toEqual([])
  })

  test('if a process is killed, the other goes on in order and repeats only what was under way', async () => {
    const one = await start(config)
    receiver.answer((res) => {
      // The receiver hangs, so that the process dies with requests under way.
      if (receiver.requests.items.length <= 300) res.writeHead(204).end()
    })
    await told(one, { name: 'one', users: 50, each: 20 })
    await receiver.requests.until(308)
    await end(one)
    receiver.answer((res) => res.writeHead(204).end())
    // The right of the dead process ends after a minute, which has passed for this one.
    await start(config, 61)
    await receiver.requests.until(1000 + 8)
    await allSent()
    const order = orders()
    expect(order.size).toBe(50)
    for (const reasons of order.values()) expect(reasons).toEqual(countingTo(20))
    expect(duplicates()).toBeGreaterThan(0)
    expect(duplicates()).toBeLessThanOrEqual(8)
  })
}

describeWith('postgresql', 'webhooks of two processes on PostgreSQL', () =>
  sends({ client: 'pg', connection: services.postgresql, pool: { min: 0, max: 8 } }),
)
describeWith('mariadb', 'webhooks of two processes on MariaDB', () =>
  sends({ client: 'mysql2', connection: services.mariadb, pool: { min: 0, max: 8 } }),
)
