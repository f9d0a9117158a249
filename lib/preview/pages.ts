import type { RequestListener } from 'node:http'
import { parse } from 'cookie'
import { consentRows } from '../authorization/consent-rows.ts'
import { type ScopeTexts, scopeWords } from '../authorization/consent-scopes.ts'
import type { FeatureTools } from '../feature.ts'
import { features } from '../features/index.ts'
import { providerIcons } from '../options/login.ts'
import type { Options } from '../options/options.ts'
import { createLanguages } from '../pages/i18n/languages.ts'
import { escapeHtml } from '../pages/i18n/text.ts'
import type { ConsentScope, PageModels } from '../pages/page-models.ts'
import { createViews, type Views } from '../pages/views.ts'
import { claimsByScope } from '../protocol/claims.ts'
import { samples } from '../samples/index.ts'
import type { Sample } from '../samples/sample.ts'
import { previewIndex } from './overview.ts'

/** The options that change how the pages look. */
export type PreviewOptions = Pick<Options, 'login' | 'pages' | 'scopes'>

/** The policy of the pages, but the overview may frame them. */
const policy =
  "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; base-uri 'none'; frame-ancestors 'self'; form-action 'self'"

const person = { name: 'Alice Liddell', email: 'alice@example.com', phone_number: '+44 1865 000000' }

/** Pretends the colour scheme that the overview chose, whatever the system prefers. */
const inScheme = (scheme: string | undefined, source: string): string => {
  if (scheme !== 'light' && scheme !== 'dark') return source
  return source
    .replaceAll(/\(prefers-color-scheme:\s*(light|dark)\)/g, (_all, asked) =>
      asked === scheme ? '(min-width: 0)' : '(max-width: 0)',
    )
    .replaceAll(/color-scheme:\s*light dark/g, `color-scheme: ${scheme}`)
}

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
 * overview, `/<language>/<state>` a page. Files are read anew for each request. Forms are not answered.
 *
 * @param options checked options of `authRouter()`
 * @param tools of the features, which have samples of their pages
 * @throws OptionsError for texts that no page has, Error when the folder of the views does not exist
 * @example
 * createServer(previewPages(resolveOptions({ pages: { name: 'Acme' } }, []), [])).listen(4111, '127.0.0.1')
 */
export const previewPages = (options: PreviewOptions, tools: readonly FeatureTools[]): RequestListener => {
  const { pages, login, scopes } = options
  const languages = createLanguages(options, features)
  const states = [...samples, ...tools.flatMap((each) => each.samples ?? [])]
  const views = createViews({
    pages,
    basePath: '',
    languages,
    cache: false,
    pictures: providerIcons(login),
  })
  const texts: ScopeTexts = {
    options: { pages, scopes, resources: {}, features: { authorizationDetails: {} } },
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

  return (req, res) => {
    const send = (status: number, type: string, body?: string | Buffer): void => {
      res.writeHead(status, { 'Content-Type': type, 'Cache-Control': 'no-store' }).end(body)
    }
    const html = 'text/html; charset=utf-8'
    // 204: the browser stays on the page whose form it posted.
    if (req.method !== 'GET' && req.method !== 'HEAD') return send(204, html)
    const url = new URL(req.url ?? '/', 'http://localhost')
    const scheme = parse(req.headers.cookie ?? '').preview_scheme
    const [, first = '', second = ''] = url.pathname.split('/')
    try {
      if (first === '') {
        const tags = languages.tags.map((tag) => ({ tag, name: languages.nameOf(tag) }))
        const names = statesIn(languages.default).map(({ page, name }) => ({ page, name }))
        const chosen = url.searchParams.get('scheme')
        if (chosen !== null)
          res.setHeader(
            'Set-Cookie',
            `preview_scheme=${encodeURIComponent(chosen)}; HttpOnly; SameSite=Strict`,
          )
        return send(200, html, previewIndex(pages.name, names, tags, url.searchParams))
      }
      const asset = first === 'assets' ? views.asset(second) : undefined
      if (asset?.type.startsWith('text/css'))
        return send(200, asset.type, inScheme(scheme, asset.body.toString()))
      if (asset) return send(200, asset.type, asset.body)
      const page = pageAt(first, second)
      res.setHeader('Content-Security-Policy', policy)
      return page === undefined
        ? send(404, html, '<p>There is no such page. <a href="/">All pages</a>')
        : send(200, html, inScheme(scheme, page))
    } catch (error) {
      // A template that does not compile: the host is editing it.
      send(500, html, `<pre>${escapeHtml(error instanceof Error ? error.message : error)}</pre>`)
    }
  }
}
