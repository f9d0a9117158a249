/** The words of one language: flat keys, `{name}` where a value goes. Plain text, never markup. */
export interface Dictionary {
  /** BCP 47, for `lang`. */
  language: string
  direction: 'ltr' | 'rtl'
  texts: Readonly<Record<string, string>>
}

/** What may stand for a placeholder: text, or a link with text. */
export type TextValue = string | number | { href: string; text: string } | undefined

/** Speaks one language. */
export interface Text {
  /** Markup, ready to print raw: everything escaped, each value isolated with `<bdi>` from its templateGlobals. */
  html(key: string, values?: Readonly<Record<string, TextValue>>): string
  /** Plain text, to be escaped by whoever prints it: for titles and attributes. */
  plain(key: string, values?: Readonly<Record<string, TextValue>>): string
  has(key: string): boolean
  /** "45 seconds", "3 minutes": rounded up, so that waiting that long is enough. */
  duration(seconds: number): string
  number(value: number): string
  /** A time in UTC in words; text that is no time comes back as it is. */
  time(iso: string): string
  /** Likewise its day. */
  date(iso: string): string
}

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Text as it may stand in markup, between tags or in a quoted attribute. */
export const escapeHtml = (value: unknown): string =>
  String(value ?? '').replace(/[&<>"']/g, (character) => escapes[character] ?? '')

const plainValue = (value: TextValue): string =>
  typeof value === 'object' ? value.text : String(value ?? '')

const htmlValue = (value: TextValue): string =>
  typeof value === 'object'
    ? `<a href="${escapeHtml(value.href)}">${escapeHtml(value.text)}</a>`
    : `<bdi>${escapeHtml(value)}</bdi>`

/**
 * The functions that templates speak with. An unknown key comes back as itself: a page with an odd word
 * is better than no page.
 *
 * @example createText(en).html('login.continue', { client: 'Shop & Co' }) // to continue to <bdi>Shop &amp; Co</bdi>
 */
export const createText = ({ language, texts }: Dictionary): Text => {
  const has = (key: string): boolean => Object.hasOwn(texts, key)
  const sentence = (key: string): string => (has(key) ? (texts[key] ?? key) : key)
  const fill = (
    text: string,
    values: Readonly<Record<string, TextValue>>,
    print: (value: TextValue) => string,
  ): string =>
    text.replace(/\{(\w+)\}/g, (_, name: string) => print(Object.hasOwn(values, name) ? values[name] : ''))
  const unit = (count: number, name: 'second' | 'minute' | 'hour'): string =>
    new Intl.NumberFormat(language, { style: 'unit', unit: name, unitDisplay: 'long' }).format(count)
  const inWords = (iso: string, style: Intl.DateTimeFormatOptions): string => {
    const time = new Date(iso)
    if (Number.isNaN(time.getTime())) return iso
    return new Intl.DateTimeFormat(language, { ...style, timeZone: 'UTC' }).format(time)
  }
  return {
    has,
    html: (key, values = {}) => fill(escapeHtml(sentence(key)), values, htmlValue),
    plain: (key, values = {}) => fill(sentence(key), values, plainValue),
    duration: (seconds) => {
      if (seconds <= 90) return unit(Math.max(1, Math.ceil(seconds)), 'second')
      return seconds <= 5400
        ? unit(Math.ceil(seconds / 60), 'minute')
        : unit(Math.ceil(seconds / 3600), 'hour')
    },
    number: (value) => new Intl.NumberFormat(language).format(value),
    time: (iso) => inWords(iso, { dateStyle: 'medium', timeStyle: 'long' }),
    date: (iso) => inWords(iso, { dateStyle: 'long' }),
  }
}
