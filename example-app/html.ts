/** Safe HTML. Only the `html` tag creates it, which escapes every value. */
export class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

const entities: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

const render = (value: unknown): string => {
  if (value === undefined || value === null || value === false) return ''
  if (value instanceof Html) return value.text
  if (Array.isArray(value)) return value.map(render).join('')
  return String(value).replace(/[&<>"']/g, (character) => entities[character] ?? '')
}

/** Template tag: html`<p>${name}</p>`. Lists are joined; undefined, null and false are omitted. */
export const html = (strings: TemplateStringsArray, ...values: unknown[]): Html =>
  new Html(strings.map((string, index) => string + render(values[index])).join(''))
