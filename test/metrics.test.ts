import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { transformSync } from '@swc/core'
import supertest from 'supertest'
import { type Host, startHost } from './support/host.ts'
import { post, web } from './support/tokens.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host.close())

/** What the tests use of the packages, whose types need not be installed. */
interface Telemetry {
  readonly InMemoryMetricExporter: new (temporality: number) => { getMetrics(): readonly object[] }
  readonly PeriodicExportingMetricReader: new (settings: object) => { forceFlush(): Promise<void> }
  readonly MeterProvider: new (settings: object) => { shutdown(): Promise<void> }
}

/** Runs the snippet of the documentation that imports from a package, with the values of that package. */
const runSnippet = (name: string): void => {
  const docs = readFileSync(join(__dirname, '../docs/events.md'), 'utf8')
  const snippets = [...docs.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, code = '']) => code)
  const snippet = snippets.find((code) => code.includes(`from '${name}'`)) ?? ''
  const settings = { jsc: { target: 'es2022' }, module: { type: 'commonjs' } } as const
  const { code } = transformSync(snippet, settings)
  new Function('require', 'exports', 'oauth', 'app', code)(require, {}, host.oauth, host.app)
}

const requestTokens = async (): Promise<void> => {
  await post(host, { ...web, grant_type: 'client_credentials' })
  await post(host, { ...web, grant_type: 'password' })
}

test('the snippet for prom-client counts events by type and code', async () => {
  runSnippet('prom-client')
  await requestTokens()
  const { text } = await supertest(host.app).get('/metrics')
  expect(text).toContain('\noauth_events_total{type="tokens.issued",code=""} 1\n')
  expect(text).toContain('\noauth_events_total{type="api.refused",code="unsupported_grant_type"} 1\n')
})

test('the snippet for OpenTelemetry counts events by type and code', async () => {
  const { metrics } = require('@opentelemetry/api')
  const sdk: Telemetry = require('@opentelemetry/sdk-metrics')
  const exporter = new sdk.InMemoryMetricExporter(1)
  const reader = new sdk.PeriodicExportingMetricReader({ exporter })
  const provider = new sdk.MeterProvider({ readers: [reader] })
  metrics.setGlobalMeterProvider(provider)
  try {
    runSnippet('@opentelemetry/api')
    await requestTokens()
    await reader.forceFlush()
    const counted = JSON.stringify(exporter.getMetrics())
    expect(counted).toContain('"name":"oauth.events"')
    expect(counted).toContain('{"event.name":"tokens.issued"}')
    expect(counted).toContain('{"event.name":"api.refused","error.type":"unsupported_grant_type"}')
  } finally {
    await provider.shutdown()
  }
})
