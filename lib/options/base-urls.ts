import { normalUrl } from '../protocol/tokens/dpop-proof.ts'
import { refuse } from './check.ts'

/**
 * Checks URLs below which an API is called.
 *
 * @param name the option
 * @returns them without a slash at the end
 * @throws OptionsError
 */
export const checkedBaseUrls = (name: string, urls: unknown): readonly string[] => {
  const normal = Array.isArray(urls)
    ? urls.map((url: unknown) => (typeof url === 'string' && !/[?#]/.test(url) ? normalUrl(url) : undefined))
    : [undefined]
  return normal.map(
    (url) =>
      url?.replace(/\/$/, '') ?? refuse(`${name} must be a list of URLs, such as 'https://api.example.com'`),
  )
}
