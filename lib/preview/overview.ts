import { escapeHtml } from '../pages/i18n/text.ts'

const widths = ['320', '375', '768', '1280']
const schemes = ['system', 'light', 'dark']

const style = `
  :root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
  body { margin: 0 auto; padding: 1rem 1.5rem 4rem; }
  form { position: sticky; top: 0; display: flex; flex-wrap: wrap; gap: 1rem; align-items: end; padding: .75rem 0; background: Canvas; }
  label { display: grid; } select, button { font: inherit; min-height: 2.75rem; }
  .states { display: flex; flex-wrap: wrap; gap: 1.5rem; align-items: start; }
  figure { margin: 0; max-width: 100%; } iframe { border: 1px solid GrayText; max-width: 100%; height: 40rem; }`

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

/**
 * The overview of the preview: every state in a frame.
 *
 * @param query `language`, `width` in CSS pixels and `scheme`; unknown values count as the first one
 */
export const previewIndex = (
  product: string,
  states: readonly { page: string; name: string }[],
  languages: readonly { tag: string; name: string }[],
  query: URLSearchParams,
): string => {
  const chosen = (name: string, values: readonly string[], standard = values[0] ?? ''): string =>
    values.find((value) => value === query.get(name)) ?? standard
  const tags = languages.map(({ tag }) => tag)
  const nameOf = (tag: string): string => languages.find((each) => each.tag === tag)?.name ?? tag
  const language = chosen('language', tags, tags.includes('en') ? 'en' : tags[0])
  const width = chosen('width', widths, '375')
  const scheme = chosen('scheme', schemes)
  const frame = (name: string): string =>
    `<figure><figcaption><a href="/${language}/${name}">${name}</a></figcaption>
<iframe src="/${language}/${name}" title="${name}" loading="lazy" style="width: ${width}px"></iframe></figure>`
  const sections = [...new Set(states.map(({ page }) => page))].map((page) => {
    const frames = states.filter((state) => state.page === page).map(({ name }) => frame(name))
    return `<section><h2>${page}</h2><div class="states">${frames.join('\n')}</div></section>`
  })
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Pages of ${escapeHtml(product)}</title><style>${style}</style></head>
<body><h1>Pages of ${escapeHtml(product)}</h1>
<p>${states.length} states with sample data. Templates, styles and assets are read anew for each request; after a change of the configuration, restart the preview.</p>
<form>${select('language', 'Language', tags, language, nameOf)}
${select('width', 'Width', widths, width, (each) => `${each} px`)}
${select('scheme', 'Colours', schemes, scheme)}
<button>Show</button></form>
<main>${sections.join('\n')}</main></body></html>
`
}
