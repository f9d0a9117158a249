import type { RequestListener } from 'node:http'
import { resolve } from 'node:path'
import { parse } from 'cookie'
import { definitionsOf, type FeatureTools } from '../../features/feature.ts'
import { consentRows } from '../../oauth/authorization/consent-rows.ts'
import { type ScopeTexts, scopeWords } from '../../oauth/authorization/consent-scopes.ts'
import { providerIcons } from '../../options/login.ts'
import type { Options } from '../../options/options.ts'
import type { Pages } from '../../options/pages.ts'
import { claimsByScope } from '../../protocol/claims.ts'
import { createLanguages } from '../../web/pages/i18n/languages.ts'
import { escapeHtml } from '../../web/pages/i18n/text.ts'
import { type ConsentScope, isOperatorPage, type PageModels } from '../../web/pages/page-models.ts'
import { oldCopies, runningVersion } from '../../web/pages/template-version.ts'
import { inScheme } from '../../web/pages/theme/scheme.ts'
import { createViews, type Views } from '../../web/pages/views.ts'
import { samples } from '../samples/index.ts'
import type { Sample } from '../samples/sample.ts'
import { previewIndex } from './overview.ts'
import { createStudio, studioFile } from './studio.ts'

/** The options that change how the pages look. */
export type PreviewOptions = Pick<Options, 'features' | 'lifetimes' | 'login' | 'pages' | 'scopes'>

/** The policy of the pages, but the overview may frame them, and a font may be tried. */
const policy =
  "default-src 'none'; style-src 'self'; img-src 'self'; font-src 'self'; script-src 'self'; base-uri 'none'; frame-ancestors 'self'; form-action 'self'"

/** The overview also asks the preview itself, and shows pages in frames. */
const overviewPolicy =
  "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; connect-src 'self'; frame-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'"

/** A drawing may have styles of its own, and no scripts. */
const assetPolicy = "default-src 'none'; style-src 'unsafe-inline'"

/** The files of the overview. */
const studioTypes: Readonly<Record<string, string>> = {
  'studio.css': 'text/css; charset=utf-8',
  'studio.js': 'text/javascript; charset=utf-8',
}

/** Whether a request names this machine. */
const isLocal = (host = ''): boolean => /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/.test(host)

const person = { name: 'Alice Liddell', email: 'alice@example.com', phone_number: '+44 1865 000000' }

/** Pretends the colour scheme that the overview chose, whatever the system prefers. */
const pretend = (scheme: string | undefined, source: string): string =>
  scheme === 'light' || scheme === 'dark' ? inScheme(scheme, source) : source

/** The rows of a client that asks for every scope of the host. */
const hostScopes = (server: ScopeTexts, language: string): ConsentScope[] => {
  const names = ['openid', 'profile', 'email', ...Object.keys(server.options.scopes), 'offline_access']
  const rows = [...new Set(names)].map((name) => {
    const scope = Object.hasOwn(server.options.scopes, name) ? server.options.scopes[name] : undefined
    const isHighRisk = scope?.risk === 'high'
    return {
      name,
      ...scopeWords(server, name, language),
      optional: scope?.optional ?? false,
      isNew: false,
      checked: !isHighRisk,
      isHighRisk,
    }
  })
  return consentRows(server, rows, person, language)
}

const consentModel = (scopes: ConsentScope[]): PageModels['consent'] => {
  const consent = samples.find((sample) => sample.page === 'consent')
  if (consent?.page !== 'consent') throw new Error('there is no sample of the consent page')
  return { ...consent.model, scopes }
}

/** The sign-in page with the links and providers that the host has. */
const loginOf = (
  { pages: { links }, login: { identifier, providers } }: PreviewOptions,
  model: PageModels['login'],
  views: Views,
): PageModels['login'] => ({
  ...model,
  identifier,
  links: {
    forgotPassword: links.forgotPassword && model.links?.forgotPassword,
    signUp: links.signUp && model.links?.signUp,
  },
  providers:
    providers?.map(({ name, url, icon }) => ({ name, url, icon: icon && views.picture(icon) })) ??
    model.providers,
})

/**
 * Serves each page in each of its states, with sample data and the host's options `pages`, `login` and `scopes`. `/` is an
 * overview with a panel to try another look and write it, `/<language>/<state>` a page. Files are read anew for each request.
 * Forms of the pages are not answered.
 *
 * @param options checked options of `authRouter()`
 * @param tools of the features, which have samples of their pages
 * @param configuration the host's configuration file, beside which a look is written
 * @throws OptionsError for texts that no page has, Error when the folder of the views does not exist
 * @example
 * createServer(previewPages(resolveOptions({ pages: { name: 'Acme' } }), [])).listen(4111, '127.0.0.1')
 */
export const previewPages = (
  options: PreviewOptions,
  tools: readonly FeatureTools[],
  configuration = 'latchkey.config.mjs',
): RequestListener => {
  const { pages, login, scopes, lifetimes } = options
  const studio = createStudio(pages, resolve(configuration))
  const installed = definitionsOf(options)
  const languages = createLanguages(options, installed)
  const states = [...samples, ...tools.flatMap((each) => each.samples ?? [])]
  const viewsOf = (look: Pages): Views =>
    createViews({
      pages: look,
      basePath: '',
      languages,
      cache: false,
      pictures: providerIcons(login),
      folders: installed.flatMap(({ views }) => views ?? []),
    })
  let views = viewsOf(pages)
  const texts: ScopeTexts = {
    options: { pages, scopes, lifetimes, resources: {}, protocol: { authorizationDetails: {} } },
    languages,
    scopeClaims: claimsByScope(scopes),
  }
  const statesIn = (language: string): readonly Sample[] =>
    Object.keys(scopes).length === 0
      ? states
      : [
          ...states,
          {
            name: 'consent-your-scopes',
            page: 'consent',
            model: consentModel(hostScopes(texts, language)),
          },
        ]

  const pageAt = (language: string, name: string): string | undefined => {
    const state = statesIn(language).find((each) => each.name === name)
    if (state === undefined || !languages.tags.includes(language)) return undefined
    const choices = languages.tags.map((tag) => ({
      tag,
      name: languages.nameOf(tag),
      ...(tag !== language && { url: `/${tag}/${name}` }),
    }))
    // The state stays: neither the refresh of `return` nor the script of `form-post` leads away from it.
    return views
      .render(
        state.page,
        (state.page === 'login' ? loginOf(options, state.model, views) : state.model) as never,
        {
          language,
          choices: languages.tags.length > 1 ? choices : [],
        },
      )
      .replace(/<meta http-equiv="refresh"[^>]*>|<script [^>]*form-post[^>]*><\/script>/g, '')
  }

  const overview = (query: URLSearchParams): string =>
    previewIndex(
      {
        pages: studio.pages(),
        states: statesIn(languages.default).map(({ page, name }) => ({
          page,
          name,
          isForOperators: isOperatorPage(page),
        })),
        languages: languages.tags.map((tag) => ({ tag, name: languages.nameOf(tag) })),
        copies: pages.views === undefined ? [] : oldCopies(pages.views),
        version: runningVersion(),
        token: studio.token,
      },
      query,
    )

  return async (req, res) => {
    const send = (status: number, type: string, body?: string | Buffer): void => {
      res.writeHead(status, { 'Content-Type': type, 'Cache-Control': 'no-store' }).end(body)
    }
    const html = 'text/html; charset=utf-8'
    // Another site that has its name resolved to this machine must not read the token.
    if (!isLocal(req.headers.host)) return send(403, html, '<p>Open the preview at its own address.')
    const url = new URL(req.url ?? '/', 'http://localhost')
    const [, first = '', second = ''] = url.pathname.split('/')
    const isRead = req.method === 'GET' || req.method === 'HEAD'
    try {
      if (!isRead && first === 'studio') {
        const { status, body } = await studio.answer(second, url, req)
        if (status === 200) views = viewsOf(studio.pages())
        return send(status, 'application/json', JSON.stringify(body))
      }
      // 204: the browser stays on the page whose form it posted.
      if (!isRead) return send(204, html)
      const scheme = parse(req.headers.cookie ?? '').preview_scheme
      res.setHeader('X-Content-Type-Options', 'nosniff')
      if (first === '') {
        const chosen = url.searchParams.get('scheme')
        if (chosen !== null)
          res.setHeader(
            'Set-Cookie',
            `preview_scheme=${encodeURIComponent(chosen)}; HttpOnly; SameSite=Strict`,
          )
        res.setHeader('Content-Security-Policy', overviewPolicy)
        return send(200, html, overview(url.searchParams))
      }
      const file = first === 'studio' ? studioTypes[second] : undefined
      if (file !== undefined) return send(200, file, studioFile(second))
      const asset = first === 'assets' ? views.asset(second) : undefined
      if (asset?.type.startsWith('text/css'))
        return send(200, asset.type, pretend(scheme, asset.body.toString()))
      res.setHeader('Content-Security-Policy', asset ? assetPolicy : policy)
      if (asset) return send(200, asset.type, asset.body)
      const shown = pageAt(first, second)
      // In a frame a field would take the keyboard from the panel.
      const isFramed = req.headers['sec-fetch-dest'] === 'iframe'
      const page = isFramed ? shown?.replace(/ autofocus(?=[ >])/g, '') : shown
      return page === undefined
        ? send(404, html, '<p>There is no such page. <a href="/">All pages</a>')
        : send(200, html, pretend(scheme, page))
    } catch (error) {
      // A template that does not compile: the host is editing it.
      send(500, html, `<pre>${escapeHtml(error instanceof Error ? error.message : error)}</pre>`)
    }
  }
}
