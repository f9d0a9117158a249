import type { Request, RequestHandler, Response } from 'express'
import { OptionsError } from '../../options/check.ts'
import { refusal } from '../../protocol/refusal.ts'
import type { Deliver, Incoming, Interaction, PageContext } from '../../web/http/context.ts'
import type { Endpoint } from '../../web/http/endpoint.ts'
import { queryOf } from '../../web/http/form.ts'
import { createRequestInfo, type EndpointKind, serve } from '../../web/http/route.ts'
import { runHandler } from '../../web/http/run-handler.ts'
import { sendJson } from '../../web/http/send.ts'
import { frontEndLocation, stepParameter } from '../../web/http/urls.ts'
import { isCrossSite } from '../../web/sessions/csrf.ts'
import type { ServerSetup } from '../authorization-server.ts'

/** Where a script of the host's front end reads what to show, and sends what the user decides. */
export const interactionPath = '/interaction'

/** The two ways to an interaction. */
export interface Interactions {
  /** Answers a script with JSON. */
  readonly endpoint: RequestHandler
  /** As `oauth.interaction`. */
  interaction(req: Request, res: Response): Promise<Interaction | undefined>
}

/** Hands outcomes to a front end of the host, as values. */
const deliverTo =
  (take: (interaction: Interaction, headers: Record<string, string>) => void): Deliver =>
  ({ server }, outcome) => {
    if ('redirectTo' in outcome) return take(outcome, {})
    if ('redirectToPage' in outcome) {
      const { redirectToPage } = outcome
      return take({ redirectTo: frontEndLocation(server, redirectToPage) ?? redirectToPage }, {})
    }
    const { page, model, language, options } = outcome
    const { status = 200, headers } = options
    // That page only leads to another one.
    if (page === 'return') take({ redirectTo: model.url }, {})
    else take({ page, status, language, model } as Interaction, { ...headers })
  }

/**
 * Runs the endpoints of our own pages for a front end of the host (`pages.url`). The handlers are the same, and so are their
 * rules: only the answer leaves as a value.
 *
 * @param pages every endpoint that browsers open
 */
export const interactions = (
  server: ServerSetup,
  kind: EndpointKind<PageContext>,
  pages: readonly Endpoint<PageContext>[],
): Interactions => {
  const interactionPages = pages.filter(({ isInteraction }) => isInteraction)

  /** @throws OAuthError `invalid_request` with status 404 */
  const named = (req: Request): Endpoint<PageContext> => {
    const step = queryOf(req).get(stepParameter)
    const endpoint = interactionPages.find(({ path }) => path === `/${step}`)
    if (endpoint) return endpoint
    const steps = interactionPages.map(({ path }) => path.slice(1))
    const values = { parameter: 'step', problem: `must be one of: ${steps.join(', ')}` }
    throw refusal('parameter_invalid', { values, status: 404 })
  }

  const run = (
    { req, res }: Pick<Incoming, 'req' | 'res'>,
    deliver: Deliver,
    check: (incoming: Incoming) => void = () => {},
  ): Promise<void> => {
    const info = createRequestInfo(server, req)
    const incoming: Incoming = { req, res, server, endpoint: { path: interactionPath }, info, deliver }
    const work = async (): Promise<void> => {
      check(incoming)
      const endpoint = named(req)
      await serve(kind, endpoint, { ...incoming, endpoint })
    }
    return work().catch((error: unknown) => kind.renderError(incoming, error))
  }

  return {
    endpoint: (req, res, next) => {
      const deliver = deliverTo((interaction, headers) =>
        sendJson(res, interaction, {
          status: 'status' in interaction ? interaction.status : 200,
          headers: { 'Cross-Origin-Resource-Policy': 'same-origin', ...headers },
        }),
      )
      runHandler(res, next, () => run({ req, res }, deliver, assertSameSite))
    },
    interaction: (req, res) =>
      new Promise((resolve, reject) => {
        if (server.options.pages.url === undefined)
          return reject(new OptionsError('oauth.interaction() needs the option pages.url'))
        const deliver = deliverTo((interaction) => {
          res.setHeader('Cache-Control', 'no-store')
          resolve(interaction)
        })
        // HEAD and a prefetch get an empty answer.
        run({ req, res }, deliver).then(() => resolve(undefined), reject)
      }),
  }
}

/** @throws OAuthError `invalid_request` with status 403 if a page of another site asks */
const assertSameSite = (incoming: Incoming): void => {
  if (!isCrossSite(incoming)) return
  throw refusal('page_foreign', { status: 403 })
}
