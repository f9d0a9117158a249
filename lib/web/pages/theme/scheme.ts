/** The colour scheme of the pages; `auto` follows the operating system of the user. */
export type Scheme = 'auto' | 'light' | 'dark'

/** A stylesheet that has one scheme, whatever the operating system prefers. */
export const inScheme = (scheme: Scheme, css: string): string =>
  scheme === 'auto'
    ? css
    : css
        .replaceAll(/\(\s*prefers-color-scheme\s*:\s*(light|dark)\s*\)/g, (_all, asked) =>
          asked === scheme ? '(min-width: 0)' : '(max-width: 0)',
        )
        .replaceAll(/\bcolor-scheme\s*:\s*light dark\b/g, `color-scheme: ${scheme}`)

/** A colour for each scheme; one without a colour for dark pages is for both. */
export interface SchemeColours {
  readonly light?: string
  readonly dark?: string
}

const colour = /^(?:#[\da-f]{3,8}|(?!var\()[a-z]+(?:\([^()]*\))?)$/i

/** The values of `--surface` in `:root` of a host's stylesheet. It fills narrow pages, so browsers show it around them. */
export const surfacesOf = (css: string): SchemeColours => {
  const found: { light?: string; dark?: string } = {}
  const roots = css
    .replaceAll(/\/\*[\s\S]*?\*\//g, '')
    .matchAll(/(prefers-color-scheme\s*:\s*dark\s*\)\s*\{\s*)?:root\s*\{([^}]*)\}/g)
  for (const [, dark, body = ''] of roots) {
    const value = /--surface\s*:\s*([^;]+)/.exec(body)?.[1]?.trim()
    if (value !== undefined && colour.test(value)) found[dark ? 'dark' : 'light'] = value
  }
  return found
}
