import { fork } from 'node:child_process'
import { once } from 'node:events'
import supertest from 'supertest'
import type { ResourceServerOptions } from '../../lib/guard/index.ts'
import { compiledProgram } from '../support/compiled.ts'

/** An API in a process of its own. */
export interface ApiProcess {
  get(path: string, token?: string): supertest.Test
  close(): Promise<void>
}

/** Starts an API that only knows its issuer by these options. */
export const startApi = async (options: ResourceServerOptions): Promise<ApiProcess> => {
  const child = fork(compiledProgram('test/support/api-process.ts'), { execArgv: [] })
  child.send(options)
  const [report] = (await once(child, 'message')) as [{ port?: number; fault?: string }]
  if (report.port === undefined) throw new Error(`no API: ${report.fault}`)
  const api = supertest(`http://127.0.0.1:${report.port}`)
  return {
    get: (path, token) => {
      const request = api.get(path)
      return token === undefined ? request : request.set('Authorization', `Bearer ${token}`)
    },
    close: async () => {
      const ended = once(child, 'exit')
      child.disconnect()
      await ended
    },
  }
}
