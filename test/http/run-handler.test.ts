import { createServer, type RequestListener } from 'node:http'
import express, { type Express } from 'express'
import supertest from 'supertest'
import { runHandler } from '../../lib/web/http/run-handler.ts'
import { sendJson, UnsentError } from '../../lib/web/http/send.ts'

const broken = new Error('broken')

/** An app whose handler fails, and what its error handler was given. */
const appWith = (handler: (res: express.Response) => Promise<void>) => {
  const given: unknown[] = []
  const app: Express = express()
  app.get('/', (_req, res, next) => runHandler(res, next, () => handler(res)))
  app.use(((error, _req, res, _next) => {
    given.push(error)
    res.status(500).send('the app')
  }) satisfies express.ErrorRequestHandler)
  return { app, given }
}
const closed = /socket hang up|aborted|other side closed/

test.each([[broken], [undefined], ['route'], [null]])(
  'what fails before an answer begins goes to the error handler of the app: %p',
  async (thrown) => {
    const { app, given } = appWith(() => Promise.reject(thrown))
    await supertest(app).get('/').expect(500, 'the app')
    expect(given).toEqual([thrown === broken ? broken : expect.any(Error)])
  },
)

test('an answer that has begun is cut off, so that no client takes it for complete', async () => {
  const { app, given } = appWith(async (res) => {
    res.write('half of it')
    throw broken
  })
  await expect(supertest(app).get('/')).rejects.toThrow(closed)
  expect(given).toEqual([])
})

test('an answer that is complete stays', async () => {
  const { app, given } = appWith(async (res) => {
    res.end('all of it')
    throw broken
  })
  const { text } = await supertest(app).get('/').buffer(true).expect(200)
  expect([text, given]).toEqual(['all of it', []])
})

test('where a hook refuses every answer, the connection is closed', async () => {
  const { app, given } = appWith(async (res) => {
    res.writeHead = () => {
      throw broken
    }
    expect(() => sendJson(res, {})).toThrow(UnsentError)
    sendJson(res, {})
  })
  await expect(supertest(app).get('/')).rejects.toThrow(closed)
  expect(given).toEqual([])
})

test('an error handler that throws closes the connection, and Node prints a warning', async () => {
  const warned = jest.spyOn(process, 'emitWarning').mockImplementation(() => {})
  const listener: RequestListener = (_req, res) => {
    const next = () => {
      throw broken
    }
    runHandler(res, next, () => Promise.reject(new Error('first')))
  }
  await expect(supertest(createServer(listener)).get('/')).rejects.toThrow(closed)
  expect(warned).toHaveBeenCalledWith(expect.stringContaining('broken'))
  warned.mockRestore()
})
