/** The probe for layouts: a page with everything that a layout can add to one. */
export const probe = {
  title: 'probe',
  failed: false,
  wide: true,
  style: 'management.css',
  script: 'form-post.js',
  refresh: '/probe',
  body: '<form method="post" id="it.body"></form>',
  page: '',
  model: {},
  choices: [],
} as const

const attribute = (tag: string, name: string): string | undefined =>
  new RegExp(`\\s${name}=["']?([^"'>\\s]+)`, 'i').exec(tag)?.[1]

/** The use of a tag for a page: the file that it loads, the refresh, the wide card, or an element with an id. */
const useOf = (tag: string): string | undefined => {
  if (/^<script\b/i.test(tag)) return attribute(tag, 'src')
  if (/^<link\b/i.test(tag))
    return attribute(tag, 'rel') === 'stylesheet' ? attribute(tag, 'href') : undefined
  if (/^<meta\b/i.test(tag)) return attribute(tag, 'http-equiv') && 'it.refresh'
  return /\sclass=["'][^"']*\bwide\b/i.test(tag) ? 'it.wide' : attribute(tag, 'id')
}

const usesIn = (html: string): Set<string> =>
  new Set([...html.matchAll(/<[a-z][^>]*>/gi)].flatMap(([tag]) => useOf(tag) ?? []))

/**
 * The uses that our layout makes of the probe and the layout of a host does not: stylesheets, scripts and what they work with.
 * Without them pages look broken or lose what their scripts protect.
 */
export const leftOut = (ours: string, theirs: string): string[] => {
  const used = usesIn(theirs)
  return [...usesIn(ours)].filter((use) => !used.has(use)).map((use) => use.replace(/\?v=.*$/, ''))
}
