import { parseJsonObject } from '../../protocol/json.ts'
import { type AppAnswer, type Check, type Found, type MountedSubject, warning } from '../check.ts'
import { issuerThere } from './requests.ts'

/** Where apps usually have one. */
const scripts = ['/sw.js', '/service-worker.js', '/serviceWorker.js', '/serviceworker.js']

/** The settings of the service worker of Angular. */
const angularSettings = '/ngsw.json'

const isScript = ({ status, headers }: AppAnswer): boolean =>
  status === 200 && /javascript/.test(headers.get('content-type') ?? '')

/** Whether a script answers navigations and does not name the mount. */
const takesNavigations = (script: string, basePath: string): boolean => {
  const [, segment = 'authorize'] = basePath.split('/')
  return (
    /addEventListener\(\s*["'`]fetch|onfetch/.test(script) &&
    /NavigationRoute|navigateFallback|["'`]navigate["'`]/.test(script) &&
    !script.includes(segment)
  )
}

/** Whether the settings of Angular have rules about navigations, which begin with every path, and none that takes the mount away. */
const takesByAngular = ({ status, text }: AppAnswer, basePath: string): boolean => {
  const rules: unknown = status === 200 ? parseJsonObject(text)?.navigationUrls : undefined
  const [, segment = 'authorize'] = basePath.split('/')
  return (
    Array.isArray(rules) &&
    rules.length > 0 &&
    !rules.some((rule) => Object(rule).positive === false && String(Object(rule).regex).includes(segment))
  )
}

const serviceWorkerFindings = async (subject: MountedSubject): Promise<Found> => {
  const { mount, options } = subject
  const { basePath } = options
  if (issuerThere(subject) === undefined) return undefined
  const { origin } = new URL(mount.url)
  const finding = (where: string, fix: string): Found =>
    warning(
      `the service worker of the app (${where}) seems to answer ${basePath}/authorize from its cache, so a returning user sees the app and not the sign-in page`,
      fix,
    )
  if (takesByAngular(await mount.get(`${origin}${angularSettings}`), basePath))
    return finding(angularSettings, `add '!${basePath}/**' to navigationUrls in ngsw-config.json`)
  for (const path of scripts) {
    const answer = await mount.get(`${origin}${path}`)
    if (isScript(answer) && takesNavigations(answer.text, basePath)) {
      const pattern = `/^${basePath.replaceAll('/', '\\/')}\\//`
      return finding(path, `leave the mount to the network; Workbox: navigateFallbackDenylist: [${pattern}]`)
    }
  }
  return undefined
}

/** Checks of what a browser may do before it asks the server. */
export const serviceWorkerChecks: readonly Check<MountedSubject>[] = [
  { id: 'service-worker', title: 'no service worker answers for the server', run: serviceWorkerFindings },
]
