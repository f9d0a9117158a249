/** A form as a browser would send it. */
export interface Form {
  readonly action: string
  readonly fields: Readonly<Record<string, string>>
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

const decoded = (text: string): string =>
  text.replace(/&(?:#x([0-9a-f]+)|#([0-9]+)|([a-z]+));/gi, (whole, hex, decimal, name) => {
    if (hex ?? decimal) return String.fromCodePoint(Number.parseInt(hex ?? decimal, hex ? 16 : 10))
    return entities[String(name).toLowerCase()] ?? whole
  })

const attributeOf = (tag: string, name: string): string | undefined => {
  const found = new RegExp(
    `\\s${name}(?:\\s*=\\s*(?:"([^"]*)"|'([^']*)'|([^\\s"'>]+)))?(?=[\\s/>])`,
    'i',
  ).exec(tag)
  return found ? decoded(found[1] ?? found[2] ?? found[3] ?? '') : undefined
}

const tagsOf = (html: string, name: string): string[] =>
  html.match(new RegExp(`<${name}\\b(?:"[^"]*"|'[^']*'|[^"'>])*>`, 'gi')) ?? []

/** Names of what can be filled in, and name–value pairs of the buttons. */
const controlsOf = (form: string): { names: string[]; buttons: string[] } => ({
  names: ['input', 'textarea', 'select']
    .flatMap((tag) => tagsOf(form, tag))
    .map((tag) => attributeOf(tag, 'name') ?? ''),
  buttons: tagsOf(form, 'button').map((tag) => `${attributeOf(tag, 'name')}=${attributeOf(tag, 'value')}`),
})

const fieldsOf = (form: string): Record<string, string> => {
  const fields: Record<string, string> = {}
  for (const tag of tagsOf(form, 'input')) {
    const name = attributeOf(tag, 'name')
    const isBox = /^(?:checkbox|radio)$/i.test(attributeOf(tag, 'type') ?? '')
    if (name === undefined || (isBox && attributeOf(tag, 'checked') === undefined)) continue
    fields[name] = attributeOf(tag, 'value') ?? (isBox ? 'on' : '')
  }
  // A browser drops one line break at the start, and sends the first choice if none is selected.
  for (const [, tag = '', text = ''] of form.matchAll(/(<textarea\b[^>]*>)\n?([\s\S]*?)<\/textarea>/gi))
    fields[attributeOf(tag, 'name') ?? ''] = decoded(text)
  for (const [, tag = '', inner = ''] of form.matchAll(/(<select\b[^>]*>)([\s\S]*?)<\/select>/gi)) {
    const choices = tagsOf(inner, 'option')
    const chosen = choices.find((choice) => attributeOf(choice, 'selected') !== undefined) ?? choices[0]
    fields[attributeOf(tag, 'name') ?? ''] = attributeOf(chosen ?? '', 'value') ?? ''
  }
  return fields
}

/** The first form of a page whose HTML passes the check. */
export const findForm = (html: string, check: (form: string) => boolean): Form | undefined => {
  const form = (html.match(/<form\b[\s\S]*?<\/form>/gi) ?? []).find(check)
  if (form === undefined) return undefined
  const [tag = ''] = tagsOf(form, 'form')
  return { action: attributeOf(tag, 'action') ?? '', fields: fieldsOf(form) }
}

/** The first form of a page that has each of these as a field, or as the name and value of a button. */
export const formWith = (html: string, filled: Readonly<Record<string, string>>): Form | undefined =>
  findForm(html, (form) => {
    const { names, buttons } = controlsOf(form)
    return Object.entries(filled).every(
      ([name, value]) => names.includes(name) || buttons.includes(`${name}=${value}`),
    )
  })

/** Whether a page asks for a password. */
export const asksForPassword = (html: string): boolean =>
  tagsOf(html, 'input').some((tag) => attributeOf(tag, 'type')?.toLowerCase() === 'password')

/** Where a page sends the browser by itself. */
export const refreshOf = (html: string): string | undefined => {
  const meta = tagsOf(html, 'meta').find((tag) => attributeOf(tag, 'http-equiv')?.toLowerCase() === 'refresh')
  return meta && /^\s*[0-9]+\s*;\s*url=(.+)$/i.exec(attributeOf(meta, 'content') ?? '')?.[1]
}

/** The text that a person would read. */
export const visibleText = (html: string): string =>
  decoded(html.replace(/<(style|script|head)\b[\s\S]*?<\/\1>/gi, ' ').replace(/<[^>]*>/g, ' '))
    .replace(/\s+/g, ' ')
    .trim()
