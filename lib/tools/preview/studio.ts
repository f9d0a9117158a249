import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, extname, join } from 'node:path'
import { fontTypes, type Pages, pages as pagesSchema, pictureTypes } from '../../options/pages.ts'
import { addressIn, type Branding, diffOf, linesToAdd, planOf, writeBranding } from './branding.ts'

/** An answer of the studio to its own script. */
export interface StudioAnswer {
  readonly status: number
  readonly body: object
}

/** Keeps a look while it is tried, and writes it. */
export interface Studio {
  /** A secret that the page sends with each change. */
  readonly token: string
  /** The option `pages` with the look that is being tried. */
  pages(): Pages
  /** Answers a request whose path begins with `/studio/`. */
  answer(action: string, url: URL, req: IncomingMessage): Promise<StudioAnswer>
}

const maxBody = 2 * 1024 * 1024

const bodyOf = async (req: IncomingMessage): Promise<Buffer | undefined> => {
  const parts: Buffer[] = []
  let size = 0
  for await (const part of req) {
    size += part.length
    if (size > maxBody) return undefined
    parts.push(part)
  }
  return Buffer.concat(parts)
}

/** The kinds of files that can be chosen. */
const kinds: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  logo: pictureTypes,
  font: fontTypes,
}

const said = (status: number, error: string): StudioAnswer => ({ status, body: { error } })

/** Whether a request comes from the studio's own page: only that reads the token, and only that has its origin. */
const isOwn = (req: IncomingMessage, token: string): boolean =>
  req.headers.origin === `http://${req.headers.host}` && req.headers['x-latchkey-studio'] === token

/** Every member of the look, so that those that are not set hide those of the configuration. */
const lookOf = ({ logo, font, accent, radius, scheme }: Branding): Branding =>
  ({ logo, font, accent, radius, scheme }) as Branding

/**
 * @param configured the checked option of the host
 * @param configuration the host's configuration file; what is written stands beside it
 */
export const createStudio = (configured: Pages, configuration: string): Studio => {
  const token = randomBytes(24).toString('base64url')
  const folder = dirname(configuration)
  let look = lookOf(configured)
  let uploads: string | undefined
  let uploaded = 0
  const plan = () => planOf(look, folder, uploads ?? '')

  const keep = (kind: string, name: string, body: Buffer): URL => {
    uploads ??= mkdtempSync(join(tmpdir(), 'latchkey-preview-'))
    uploaded += 1
    // A new name, so that no page shows an earlier file.
    const file = `${kind}-${uploaded}${extname(name).toLowerCase()}`
    writeFileSync(join(uploads, file), body)
    return addressIn(uploads, file)
  }

  const tryLook = (change: unknown): StudioAnswer => {
    const { accent, radius, scheme, logo, font } = { ...look, ...Object(change) }
    try {
      look = lookOf(pagesSchema.check({ accent, radius, scheme, logo, font }, 'pages'))
      return { status: 200, body: {} }
    } catch (error) {
      return said(400, error instanceof Error ? error.message : String(error))
    }
  }

  const choose = async (kind: string, url: URL, req: IncomingMessage): Promise<StudioAnswer> => {
    const name = url.searchParams.get('name') ?? ''
    const types = Object.keys(kinds[kind] ?? {})
    if (!types.includes(extname(name).toLowerCase()))
      return said(400, `choose a file that ends with ${types.join(', ')}`)
    const body = await bodyOf(req)
    return body === undefined
      ? said(413, 'the file is larger than 2 MB')
      : tryLook({ [kind]: keep(kind, name, body) })
  }

  const change = async (req: IncomingMessage): Promise<StudioAnswer> => {
    const { accent, radius, scheme } = JSON.parse(String(await bodyOf(req)))
    const given = Object.entries({ accent, radius, scheme }).filter(([, value]) => value !== undefined)
    return tryLook(Object.fromEntries(given))
  }

  const answerOwn = async (action: string, url: URL, req: IncomingMessage): Promise<StudioAnswer> => {
    if (req.method === 'POST' && action === 'look') return change(req)
    if (req.method === 'PUT' && Object.hasOwn(kinds, action)) return choose(action, url, req)
    if (req.method === 'DELETE' && Object.hasOwn(kinds, action)) return tryLook({ [action]: undefined })
    if (req.method === 'POST' && action === 'plan') {
      const { before, after, copies } = plan()
      return { status: 200, body: { diff: diffOf(before, after), copies: copies.length, after } }
    }
    if (req.method !== 'POST' || action !== 'write') return said(404, 'there is no such action')
    const shown = JSON.parse(String(await bodyOf(req))).after
    const planned = plan()
    // Only the difference that was shown is written.
    if (shown !== planned.after) return said(409, 'the look has changed: look at the difference again')
    return {
      status: 200,
      body: { written: writeBranding(planned, folder), lines: linesToAdd(configuration) },
    }
  }

  return {
    token,
    pages: () => ({ ...configured, ...look }),
    answer: async (action, url, req) => {
      if (!isOwn(req, token)) return said(403, 'only the page of this preview may do this')
      try {
        return await answerOwn(action, url, req)
      } catch (error) {
        return said(400, error instanceof Error ? error.message : String(error))
      }
    },
  }
}

/** A file of the studio's own page. */
export const studioFile = (name: string): Buffer =>
  // From `lib/tools/preview` and from the folder of the bundled modules alike.
  readFileSync(new URL(`../../tools/preview/assets/${name}`, import.meta.url))
