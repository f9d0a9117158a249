import type { Context, SpanKind, Tracer } from '@opentelemetry/api'

/** The methods of a span that we use. Hosts without `@opentelemetry/api` compile our declarations too, so they do not import it. */
export interface Span {
  setAttribute(name: string, value: string | number): unknown
}

type OpenTelemetry = typeof import('@opentelemetry/api')

/** The name and attributes of a span, by the semantic conventions. It never holds a parameter, a query or a secret. */
export interface SpanDescription {
  readonly name: string
  /** @default 'internal' */
  readonly kind?: 'server' | 'client' | 'internal'
  readonly attributes?: Readonly<Record<string, string | number>>
}

/** Spans for the host's OpenTelemetry, if it has one. */
export interface Tracing {
  /** Loads `@opentelemetry/api`, an optional peer dependency. Without it nothing is traced. */
  load(): Promise<void>
  /** Makes spans; undefined if the host has no tracer, so that the caller makes nothing. */
  active(): ActiveTracing | undefined
}

/** Makes spans. */
export interface ActiveTracing {
  /** Whether a span is open, such as that of the host for the same request. */
  hasParent(): boolean
  /**
   * Does work in a span, which ends with it. A failure is marked by the name of the error alone.
   *
   * @param work gets the span, for attributes that are known later
   */
  inSpan<T>(description: SpanDescription, work: (span: Span) => Promise<T>): Promise<T>
  /** Wraps a function so that it runs in the span that is open now. */
  inContext<Given extends unknown[], T>(work: (...given: Given) => T): (...given: Given) => T
}

const kinds = { internal: 0, server: 1, client: 2 } as const satisfies Record<string, SpanKind>
/** `SpanStatusCode.ERROR` */
const failed = 2

const activeTracing = ({ context, trace }: OpenTelemetry, tracer: Tracer): ActiveTracing => ({
  hasParent: () => trace.getActiveSpan() !== undefined,
  inSpan: ({ name, kind = 'internal', attributes = {} }, work) =>
    tracer.startActiveSpan(name, { kind: kinds[kind], attributes }, async (span) => {
      try {
        return await work(span)
      } catch (error) {
        span.setAttribute('error.type', error instanceof Error ? error.name : 'Error')
        span.setStatus({ code: failed })
        throw error
      } finally {
        span.end()
      }
    }),
  inContext: (work) => {
    const opened: Context = context.active()
    return (...given) => context.with(opened, () => work(...given))
  },
})

/** The tracer of the host; undefined if it has registered no provider. */
const tracerOf = ({ trace, ProxyTracerProvider }: OpenTelemetry): Tracer | undefined => {
  const provider = trace.getTracerProvider()
  return provider instanceof ProxyTracerProvider
    ? provider.getDelegateTracer('latchkey')
    : provider.getTracer('latchkey')
}

/**
 * Does work in a span of its own if the host has a tracer, and otherwise only does it.
 *
 * @param describe says what the span is about
 * @param work gets the span, if there is one
 * @example inSpan(server.tracing, () => ({ name: 'password.verify' }), () => verify(password))
 */
export const inSpan = <T>(
  tracing: Tracing | undefined,
  describe: (active: ActiveTracing) => SpanDescription,
  work: (span?: Span) => Promise<T>,
): Promise<T> => {
  const active = tracing?.active()
  return active === undefined ? work() : active.inSpan(describe(active), work)
}

/** Creates the tracing of a server. */
export const createTracing = (): Tracing => {
  let api: OpenTelemetry | undefined
  let current: { readonly tracer: Tracer; readonly active: ActiveTracing } | undefined
  return {
    load: async () => {
      api = await import('@opentelemetry/api').catch(() => undefined)
    },
    active: () => {
      const tracer = api && tracerOf(api)
      if (api === undefined || tracer === undefined) return undefined
      // The host's provider returns the same tracer each time.
      if (current?.tracer !== tracer) current = { tracer, active: activeTracing(api, tracer) }
      return current.active
    },
  }
}
