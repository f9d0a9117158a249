import { statSync } from 'node:fs'
import { extname } from 'node:path'
import { helpLink, hostLink, ownPathOf } from '../protocol/links.ts'
import { assertNames, assertRecord, assertType, refuse } from './check.ts'
import type { Branding, LogoPair, Picture } from './page-options.ts'
import type { LoginOptions, LoginProvider } from './user-options.ts'

/** The media types of pictures that Latchkey serves, by file name extension. */
export const pictureTypes: Readonly<Record<string, string>> = {
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.webp': 'image/webp',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.gif': 'image/gif',
  '.ico': 'image/x-icon',
}

const checkedFile = (name: string, file: URL): URL => {
  const extensions = Object.keys(pictureTypes)
  if (file.protocol !== 'file:' || !extensions.includes(extname(file.pathname).toLowerCase())) {
    refuse(`${name} must be a file: URL that ends with ${extensions.join(', ')}`)
  }
  if (!statSync(file, { throwIfNoEntry: false })?.isFile()) refuse(`${name}: the file ${file} does not exist`)
  return file
}

/** @throws OptionsError unless it is a path on the host's origin, or an existing file */
const checkedPicture = (name: string, picture: unknown): Picture => {
  if (picture instanceof URL) return checkedFile(name, picture)
  if (typeof picture === 'string' && URL.canParse(picture) && picture.startsWith('file:')) {
    return checkedFile(name, new URL(picture))
  }
  if (typeof picture === 'string' && ownPathOf(picture) !== undefined) return picture
  return refuse(
    `${name} must be a path on your own origin such as '/logo.svg', or a file such as new URL('./logo.svg', import.meta.url): the pages load nothing from other origins`,
  )
}

const checkedLogo = (logo: Branding['logo']): Branding['logo'] => {
  if (logo === undefined || typeof logo === 'string' || logo instanceof URL) {
    return logo === undefined ? undefined : checkedPicture('branding.logo', logo)
  }
  assertRecord('branding.logo', logo)
  assertNames('branding.logo.', logo, ['light', 'dark'])
  const pictures = Object.entries(logo).filter(([, picture]) => picture !== undefined)
  if (pictures.length === 0) refuse('branding.logo must have light, dark or both')
  const checked = pictures.map(([scheme, picture]) => [
    scheme,
    checkedPicture(`branding.logo.${scheme}`, picture),
  ])
  return Object.fromEntries(checked) as LogoPair
}

const assertLink = (name: string, link: unknown, example: string): void => {
  assertType(name, link, 'string')
  const isHelp = name === 'branding.links.help'
  if (link === undefined || (isHelp ? helpLink : hostLink)(String(link)) !== undefined) return
  refuse(`${name} must be a path such as '${example}'${isHelp ? ', a mailto: address' : ''} or an https URL`)
}

const linkExamples: Readonly<Record<string, string>> = {
  forgotPassword: '/forgot',
  signUp: '/join',
  help: '/help',
  privacy: '/privacy',
  terms: '/terms',
}

/** @throws OptionsError */
export const checkedBranding = (branding: Branding): Branding => {
  assertRecord('branding', branding)
  assertNames('branding.', branding, ['name', 'logo', 'logoHasName', 'accent', 'home', 'links'])
  assertType('branding.name', branding.name, 'string')
  assertType('branding.logoHasName', branding.logoHasName, 'boolean')
  const { accent, links = {} } = branding
  if (accent !== undefined && !(typeof accent === 'string' && /^#([0-9a-f]{3}|[0-9a-f]{6})$/i.test(accent))) {
    refuse("branding.accent must be a colour as #rgb or #rrggbb, such as '#2f6b4f'")
  }
  assertLink('branding.home', branding.home, '/')
  assertRecord('branding.links', links)
  assertNames('branding.links.', links, Object.keys(linkExamples))
  for (const [name, link] of Object.entries(links))
    assertLink(`branding.links.${name}`, link, linkExamples[name] ?? '/')
  const logo = checkedLogo(branding.logo)
  return logo === undefined ? branding : { ...branding, logo }
}

/** @throws OptionsError */
export const checkedProviders = (providers: unknown): readonly LoginProvider[] => {
  if (!Array.isArray(providers)) return refuse('login.providers must be a list of { name, url, icon }')
  return providers.map((provider: LoginProvider, place) => {
    const where = `login.providers[${place}]`
    assertRecord(where, provider)
    assertNames(`${where}.`, provider, ['name', 'url', 'icon'])
    const { name, url, icon } = provider
    if (typeof name !== 'string' || name.trim() === '')
      refuse(`${where}.name must be a name, such as 'Google'`)
    if (url === undefined) refuse(`${where}.url is required: your page that starts this way to sign in`)
    assertLink(`${where}.url`, url, '/auth/google')
    return { name, url, ...(icon !== undefined && { icon: checkedPicture(`${where}.icon`, icon) }) }
  })
}

/** The pictures on the buttons of {@link LoginOptions.providers}. */
export const providerIcons = ({ providers = [] }: LoginOptions): Picture[] =>
  providers.map(({ icon }) => icon).filter((icon) => icon !== undefined)
