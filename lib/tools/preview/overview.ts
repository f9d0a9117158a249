import type { Pages } from '../../options/pages.ts'
import { escapeHtml } from '../../web/pages/i18n/text.ts'
import type { TemplateCopy } from '../../web/pages/template-version.ts'

const widths = ['320', '375', '768', '1280']
const schemes = ['system', 'light', 'dark']

/** A state of a page, as the overview lists it. */
export interface ShownState {
  readonly page: string
  readonly name: string
  /** Whether it is in the default language only. */
  readonly isForOperators: boolean
}

/** The data of the overview, beside the states of its pages. */
export interface Overview {
  readonly pages: Pages
  readonly states: readonly ShownState[]
  readonly languages: readonly { readonly tag: string; readonly name: string }[]
  /** Templates of the host that are copies from another version. */
  readonly copies: readonly TemplateCopy[]
  readonly version: string
  /** A secret that the script of the page sends with each change. */
  readonly token: string
}

const select = (
  name: string,
  label: string,
  values: readonly string[],
  chosen: string,
  textOf = (value: string): string => value,
): string => {
  const options = values.map(
    (value) =>
      `<option value="${escapeHtml(value)}"${value === chosen ? ' selected' : ''}>${escapeHtml(textOf(value))}</option>`,
  )
  return `<label>${label} <select name="${name}">${options.join('')}</select></label>`
}

const file = (name: string, label: string, accept: string): string =>
  `<div class="file"><label>${label} <input type="file" id="${name}" accept="${accept}"></label><button type="button" data-remove="${name}">Remove ${name}</button></div>`

const standardAccent = '#2b54c4'
const schemeNames: Readonly<Record<string, string>> = {
  auto: 'light and dark',
  light: 'light only',
  dark: 'dark only',
}

const brandPanel = ({ accent = standardAccent, radius = 8, scheme }: Pages): string => `
<section aria-label="Brand"><h2>Brand</h2>
${file('logo', 'Logo', '.svg,.png,.webp,.jpg,.gif,.ico')}
<label>Accent <input type="color" id="accent" value="${escapeHtml(accent.length === 4 ? accent.replace(/[^#]/g, '$&$&') : accent)}"></label>
${file('font', 'Font (WOFF2)', '.woff2')}
<label>Corners <input type="range" id="radius" min="0" max="22" value="${radius}"></label>
${select('brand-scheme', 'Scheme', ['auto', 'light', 'dark'], scheme, (each) => schemeNames[each] ?? each)}
<button type="button" id="plan" class="primary">Write…</button>
<p id="said" role="status"></p></section>`

const copyList = (copies: readonly TemplateCopy[], version: string): string =>
  copies.length === 0
    ? ''
    : `<section aria-label="Your templates"><h2>Your templates</h2><p>These are copies from another version than ${escapeHtml(version)}. <code>npx latchkey eject-views</code> updates those that you did not change.</p><ul>${copies
        .map(
          ({ name, version: from, isChanged }) =>
            `<li><code>${escapeHtml(name)}</code> ${escapeHtml(from)}${isChanged ? ', changed' : ''}</li>`,
        )
        .join('')}</ul></section>`

/**
 * The overview of the preview: a panel for the brand, and every state in a frame.
 *
 * @param query `language`, `width` in CSS pixels and `scheme`; unknown values count as the first one
 */
export const previewIndex = (
  { pages, states, languages, copies, version, token }: Overview,
  query: URLSearchParams,
): string => {
  const chosen = (name: string, values: readonly string[], standard = values[0] ?? ''): string =>
    values.find((value) => value === query.get(name)) ?? standard
  const tags = languages.map(({ tag }) => tag)
  const nameOf = (tag: string): string => languages.find((each) => each.tag === tag)?.name ?? tag
  const language = chosen('language', tags, tags.includes('en') ? 'en' : tags[0])
  const width = chosen('width', widths, '375')
  const scheme = chosen('scheme', schemes)
  const product = escapeHtml(pages.name)
  const old = new Map(copies.map(({ name, version: from }) => [name.replace(/\.eta$/, ''), from]))
  const frame = ({ name, page, isForOperators }: ShownState): string => {
    const from = old.get(page)
    return `<figure id="state-${name}" data-name="${name}" data-page="${page}"${isForOperators ? ' data-operators' : ''}><figcaption><a href="/${language}/${name}">${name}</a> <output></output>${from ? ` <span class="old">template of ${escapeHtml(from)}</span>` : ''}</figcaption>
<iframe data-src="/${language}/${name}" title="${name}" class="w${width}"></iframe></figure>`
  }
  const names = [...new Set(states.map(({ page }) => page))]
  const sections = names.map((page) => {
    const frames = states.filter((state) => state.page === page).map(frame)
    return `<section id="page-${page}"><h2>${page}</h2><div class="states">${frames.join('\n')}</div></section>`
  })
  return `<!doctype html>
<html lang="en" data-token="${token}" data-tags="${escapeHtml(tags.join(' '))}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Pages of ${product}</title><link rel="icon" href="/assets/icon.svg"><link rel="stylesheet" href="/studio/studio.css"><script src="/studio/studio.js" defer></script></head>
<body><aside><h1>Pages of ${product}</h1>
<p>${states.length} states with sample data. Templates, styles and assets are read anew for each request. After a change of the configuration, restart the preview.</p>
<form id="view">${select('language', 'Language', tags, language, nameOf)}
${select('width', 'Width', widths, width, (each) => `${each} px`)}
${select('scheme', 'Show', schemes, scheme)}
<button>Show</button></form>
${brandPanel(pages)}
<section aria-label="States"><h2>States</h2>
<label>Find <input type="search" id="find" list="names" autocomplete="off"></label>
<datalist id="names">${states.map(({ name }) => `<option value="${name}">`).join('')}</datalist>
<button type="button" id="check">Check all states</button><p id="checked" role="status"></p>
<details><summary>All pages</summary><ul>${names.map((page) => `<li><a href="#page-${page}">${page}</a></li>`).join('')}</ul></details></section>
${copyList(copies, version)}
</aside>
<main>${sections.join('\n')}</main>
<iframe id="measure" title="Measurements" tabindex="-1" aria-hidden="true"></iframe>
<dialog id="dialog"><h2>latchkey.branding.mjs</h2><pre id="diff"></pre><p id="copies"></p>
<form method="dialog"><button value="cancel">Cancel</button> <button type="button" id="write" class="primary">Write</button></form></dialog>
</body></html>
`
}
