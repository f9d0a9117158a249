import { context, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import {
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import { serverBehind } from '../../lib/router.ts'
import { authorizeUrl, type Host, startHost } from '../support/host.ts'
import { codeOf } from '../support/outcomes.ts'
import { RawBrowser } from '../support/raw-browser.ts'
import { answerOf, redeem } from '../support/tokens.ts'

// A host with OpenTelemetry in the same process.

const exporter = new InMemorySpanExporter()
let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host.close())
beforeEach(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  trace.setGlobalTracerProvider(
    new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }),
  )
})
afterEach(() => {
  trace.disable()
  context.disable()
  exporter.reset()
})

const spans = (): ReadableSpan[] => exporter.getFinishedSpans()
const isRequest = ({ attributes }: ReadableSpan): boolean => 'http.route' in attributes
const isStatement = ({ attributes }: ReadableSpan): boolean => 'db.system.name' in attributes

/** The request that a span belongs to; undefined if a parent is missing between them. */
const requestOf = (span: ReadableSpan): ReadableSpan | undefined => {
  if (isRequest(span)) return span
  const parent = spans().find((each) => each.spanContext().spanId === span.parentSpanContext?.spanId)
  return parent && requestOf(parent)
}

const signIn = async (): Promise<void> => {
  const browser = new RawBrowser(host.app)
  const code = codeOf(await browser.grant(authorizeUrl({ client_id: 'web', scope: 'openid' })))
  await answerOf(redeem(host, code))
}

test('a login is one tree for each request: its statements and the password check, without gaps', async () => {
  await signIn()
  const requests = spans().filter(isRequest)
  const names = requests.map(({ name }) => name)
  for (const name of ['GET /oauth/authorize', 'GET /oauth/login', 'POST /oauth/login', 'POST /oauth/token'])
    expect(names).toContain(name)
  for (const request of requests) {
    expect(request.parentSpanContext).toBeUndefined()
    expect(request.attributes['http.response.status_code']).toBeLessThan(400)
  }
  for (const span of spans())
    expect([span.name, requestOf(span)?.name]).toEqual([span.name, expect.any(String)])
  const check = spans().find(({ name }) => name === 'password.verify')
  expect(check && requestOf(check)?.name).toBe('POST /oauth/login')
  const ofToken = spans().filter((span) => isStatement(span) && requestOf(span)?.name === 'POST /oauth/token')
  expect(ofToken.length).toBeGreaterThan(0)
})

test('statements stand below their own request, also with requests at the same time', async () => {
  const ask = (id: string) => new RawBrowser(host.app).get(authorizeUrl({ client_id: id, scope: 'openid' }))
  await Promise.all(['web', 'web', 'web', 'web'].map(ask))
  const requests = spans().filter(({ name }) => name === 'GET /oauth/authorize')
  expect(requests).toHaveLength(4)
  for (const request of requests) {
    const { traceId } = request.spanContext()
    const stored = spans().filter(
      (span) => span.spanContext().traceId === traceId && span.name.startsWith('INSERT'),
    )
    // Each request stores one pending request, also if one transaction commits those of all.
    expect(stored.map(({ name }) => name)).toEqual(['INSERT latchkey_pending_requests'])
  }
})

test('a span of the host is the parent', async () => {
  const tracer = trace.getTracer('host')
  const server = serverBehind(host.oauth)!
  await tracer.startActiveSpan('of the host', async (span) => {
    await server.passwords.verify({ password: 'wrong', hash: undefined })
    span.end()
  })
  const [check, outer] = ['password.verify', 'of the host'].map((name) =>
    spans().find((each) => each.name === name),
  )
  expect(check?.parentSpanContext?.spanId).toBe(outer?.spanContext().spanId)
})

test('no span has a parameter, a query or a secret', async () => {
  await signIn()
  const attributes = new Set(spans().flatMap((span) => Object.keys(span.attributes)))
  expect([...attributes].sort()).toEqual([
    'db.collection.name',
    'db.operation.name',
    'db.system.name',
    'http.request.method',
    'http.response.status_code',
    'http.route',
  ])
  const told = JSON.stringify(
    spans().map(({ name, attributes, status, events }) => [name, attributes, status, events]),
  )
  for (const secret of ['password=', 'ada’s', 'lk_', '?', 'redirect_uri']) expect(told).not.toContain(secret)
})

test('without a tracer of the host no span is made', async () => {
  trace.disable()
  expect(serverBehind(host.oauth)?.tracing.active()).toBeUndefined()
  await signIn()
  expect(spans()).toEqual([])
})
