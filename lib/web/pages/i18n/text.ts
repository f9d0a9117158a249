import { isShortTag } from '../../../protocol/languages.ts'

/** The texts of one language by key, with placeholders such as `{name}`. Plain text, never markup. */
export interface Dictionary {
  /** BCP 47, for `lang`. */
  language: string
  direction: 'ltr' | 'rtl'
  /** The clock of its times. @default that of the language */
  clock?: 'h23'
  texts: Readonly<Record<string, string>>
}

/** A link as the value of a placeholder. */
export interface TextLink {
  href: string
  text: string
  /** The link opens a new tab, and these words tell screen readers so. */
  newTab?: string
}

/** The value of a placeholder: a string, or a link. */
export type TextValue = string | number | TextLink | undefined

/** Formats texts, times and numbers in one language. */
export interface Text {
  /** HTML, to be printed raw. Everything is escaped, and each value is isolated with `<bdi>`. */
  html(key: string, values?: Readonly<Record<string, TextValue>>): string
  /** Plain text for titles and attributes; the template must escape it. */
  plain(key: string, values?: Readonly<Record<string, TextValue>>): string
  has(key: string): boolean
  /** A duration, such as “45 seconds”, “3 minutes”, “30 days” or “1 year”, rounded up. */
  duration(seconds: number): string
  number(value: number): string
  /** The name of a language, such as “German” for `de`; an invalid tag is returned unchanged. */
  languageName(tag: string): string
  /** How long ago something was, such as “2 minutes ago”, from seconds. */
  ago(seconds: number): string
  /** Date and time in UTC; an invalid value is returned unchanged. */
  time(iso: string): string
  /** The date in UTC; an invalid value is returned unchanged. */
  date(iso: string): string
}

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Escapes a value for HTML text and quoted attributes. */
export const escapeHtml = (value: unknown): string =>
  String(value ?? '').replace(/[&<>"']/g, (character) => escapes[character] ?? '')

const plainValue = (value: TextValue): string =>
  typeof value === 'object' ? value.text : String(value ?? '')

const htmlLink = ({ href, text, newTab }: TextLink): string => {
  const target = newTab === undefined ? '' : ' target="_blank" rel="noopener noreferrer"'
  const note = newTab === undefined ? '' : `<span class="unseen"> ${escapeHtml(newTab)}</span>`
  return `<a href="${escapeHtml(href)}"${target}>${escapeHtml(text)}${note}</a>`
}

const htmlValue = (value: TextValue): string =>
  typeof value === 'object' ? htmlLink(value) : `<bdi>${escapeHtml(value)}</bdi>`

/**
 * The text functions of templates. An unknown key is printed as it is, so that the page still appears.
 *
 * @example createText(en).html('login.continue', { client: 'Shop & Co' }) // to continue to <bdi>Shop &amp; Co</bdi>
 */
export const createText = ({ language, texts, clock }: Dictionary): Text => {
  const has = (key: string): boolean => Object.hasOwn(texts, key)
  const sentence = (key: string): string => (has(key) ? (texts[key] ?? key) : key)
  const fill = (
    text: string,
    values: Readonly<Record<string, TextValue>>,
    print: (value: TextValue) => string,
  ): string =>
    text.replace(/\{(\w+)\}/g, (_, name: string) => print(Object.hasOwn(values, name) ? values[name] : ''))
  const unit = (count: number, name: 'second' | 'minute' | 'hour' | 'day' | 'year'): string =>
    new Intl.NumberFormat(language, { style: 'unit', unit: name, unitDisplay: 'long' }).format(count)
  const inWords = (iso: string, style: Intl.DateTimeFormatOptions): string => {
    const time = new Date(iso)
    if (Number.isNaN(time.getTime())) return iso
    return new Intl.DateTimeFormat(language, { ...style, hourCycle: clock, timeZone: 'UTC' }).format(time)
  }
  const html = (key: string, values: Readonly<Record<string, TextValue>> = {}): string =>
    fill(escapeHtml(sentence(key)), values, htmlValue)
  // Most texts have no values. Unknown keys are not kept, because there may be any number of them.
  const kept = new Map<string, string>()
  const htmlWithoutValues = (key: string): string => {
    const text = kept.get(key) ?? html(key)
    if (has(key)) kept.set(key, text)
    return text
  }
  return {
    has,
    html: (key, values) => (values === undefined ? htmlWithoutValues(key) : html(key, values)),
    plain: (key, values = {}) => fill(sentence(key), values, plainValue),
    duration: (seconds) => {
      if (seconds <= 90) return unit(Math.max(1, Math.ceil(seconds)), 'second')
      if (seconds <= 5400) return unit(Math.ceil(seconds / 60), 'minute')
      const days = Math.ceil(seconds / 86_400)
      if (days < 2) return unit(Math.ceil(seconds / 3600), 'hour')
      return days % 365 === 0 ? unit(days / 365, 'year') : unit(days, 'day')
    },
    ago: (seconds) => {
      const past = new Intl.RelativeTimeFormat(language, { numeric: 'auto' })
      return seconds < 60
        ? past.format(-Math.max(0, Math.floor(seconds)), 'second')
        : past.format(-Math.floor(seconds / 60), 'minute')
    },
    languageName: (tag) => {
      if (!isShortTag(tag)) return tag
      try {
        return new Intl.DisplayNames(language, { type: 'language' }).of(tag) ?? tag
      } catch {
        return tag
      }
    },
    number: (value) => new Intl.NumberFormat(language).format(value),
    time: (iso) => inWords(iso, { dateStyle: 'medium', timeStyle: 'long' }),
    date: (iso) => inWords(iso, { dateStyle: 'long' }),
  }
}
