// The load generator. It runs the operation that the parent names, and stops at the first wrong response.
import { Agent } from 'node:http'
import { type Contestant, contestants } from '../contestants.ts'
import { answerParent } from '../messages.ts'
import { operations } from '../operations/index.ts'
import { signIn } from '../operations/sign-in.ts'
import { people } from '../registrations.ts'
import { learnKeys } from './id-token.ts'
import type { Worker } from './worker.ts'

export interface Load {
  readonly contestant: string
  /** The server's origin. */
  readonly base: string
  readonly operation: string
  readonly concurrency: number
  /** The load ends after these seconds or this count, whichever comes first. */
  readonly seconds: number
  readonly count?: number
}

export interface GeneratorSettings {
  /** Index of the first of the people that sign in, so that generators on one database can use different ones. */
  readonly firstPerson?: number
}

export interface Measured {
  readonly count: number
  readonly seconds: number
  /** In microseconds, of each operation. */
  readonly latencies: readonly number[]
}

export interface GeneratorAnswers extends Record<string, (values: never) => unknown> {
  run(load: Load): Promise<Measured>
}

const agent = new Agent({ keepAlive: true, maxSockets: 256 })
const named = <T extends { readonly name: string }>(list: readonly T[], name: string): T => {
  const found = list.find((one) => one.name === name)
  if (found === undefined) throw new Error(`${name} does not exist`)
  return found
}

/** Sign-ins are not compared between servers, because the password hash dominates their time. */
const known = [...operations, { name: 'sign-in', prepare: signIn, algorithm: 'ES256' } as const]

const { firstPerson = 0 } = JSON.parse(process.argv[2] ?? '{}') as GeneratorSettings

/** Prepared operations, with their logins and tokens, for all rounds. */
const steps = new Map<string, (() => Promise<void>)[]>()

const prepared = async (contestant: Contestant, { base, operation, concurrency }: Load) => {
  const key = `${base} ${operation}`
  const begun = steps.get(key) ?? []
  const { prepare, algorithm } = named(known, operation)
  for (const person of people.slice(firstPerson + begun.length, firstPerson + concurrency)) {
    const worker: Worker = { agent, contestant, base, person, algorithm }
    if (begun.length === 0) await learnKeys(worker)
    begun.push(await prepare(worker))
  }
  steps.set(key, begun)
  return begun.slice(0, concurrency)
}

const run = async (load: Load): Promise<Measured> => {
  const workers = await prepared(named(contestants, load.contestant), load)
  const latencies: number[] = []
  const start = performance.now()
  const end = start + load.seconds * 1000
  let left = load.count ?? Number.POSITIVE_INFINITY
  const work = async (step: () => Promise<void>): Promise<void> => {
    while (left > 0 && performance.now() < end) {
      left -= 1
      const begun = performance.now()
      await step()
      latencies.push(Math.round((performance.now() - begun) * 1000))
    }
  }
  await Promise.all(workers.map(work))
  return { count: latencies.length, seconds: (performance.now() - start) / 1000, latencies }
}

const answers: GeneratorAnswers = { run }
answerParent(answers)
process.send?.({ ready: true })
