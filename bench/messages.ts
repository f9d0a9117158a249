import type { ChildProcess } from 'node:child_process'

/** The functions of a process that another one can call, by name. */
type Questions = Record<string, (values: never) => unknown>

interface Question {
  readonly id: number
  readonly name: string
  readonly values: never
}

interface Answer {
  readonly id: number
  readonly result?: unknown
  readonly fault?: string
}

/** Answers the parent's calls, and ends this process when the parent disconnects. */
export const answerParent = (questions: Questions): void => {
  process.on('message', async ({ id, name, values }: Question) => {
    try {
      process.send?.({ id, result: await questions[name]?.(values) })
    } catch (error) {
      process.send?.({ id, fault: error instanceof Error ? (error.stack ?? error.message) : String(error) })
    }
  })
  process.on('disconnect', () => process.exit(0))
}

export type Ask<Asked extends Questions> = <Name extends keyof Asked & string>(
  name: Name,
  ...values: Parameters<Asked[Name]>
) => Promise<Awaited<ReturnType<Asked[Name]>>>

/**
 * Calls functions of a child process.
 *
 * @throws Error with the child's error, or if the child ends first
 */
export const asking = <Asked extends Questions>(child: ChildProcess): Ask<Asked> => {
  const waiting = new Map<number, { resolve(result: never): void; reject(error: Error): void }>()
  let last = 0
  child.on('message', ({ id, result, fault }: Answer) => {
    const asked = waiting.get(id)
    waiting.delete(id)
    if (fault === undefined) asked?.resolve(result as never)
    else asked?.reject(new Error(fault))
  })
  child.on('exit', (code, signal) => {
    for (const { reject } of waiting.values()) reject(new Error(`a process ended: ${signal ?? code}`))
  })
  return (name, ...[values]) =>
    new Promise((resolve, reject) => {
      last += 1
      waiting.set(last, { resolve, reject })
      child.send({ id: last, name, values })
    })
}
