import { createHash } from 'node:crypto'
import type { Logger } from '../../options/server.ts'
import { type Outbound, OutboundError } from '../../outbound/outbound.ts'
import { type Reaches, reachOf } from '../../outbound/reach.ts'
import type { Client, ClientLogo } from '../../protocol/clients/client.ts'
import { imageOf } from '../../protocol/clients/image.ts'
import { isAhead } from '../../protocol/stored-time.ts'
import type { Database } from '../../storage/database/types.ts'
import { changeLogo, type LogoImage } from '../../storage/repositories/client-logos.ts'

/** The part of the server that fetches logos. */
export interface LogoContext {
  readonly database: Database
  readonly reach: Reaches
  readonly options: { readonly logger: Pick<Logger, 'warn'> }
  now(): number
  runInBackground(work: Promise<unknown>): void
}

/** The most bytes of a logo. */
export const maxLogoBytes = 102_400
/** The most pixels in width and in height: a small file can describe a picture that fills the memory of a browser. */
const maxPixels = 2048
/** Seconds until a logo is fetched again after a failure. */
const pauseAfterFailure = 86_400

const accepted = 'PNG, JPEG, WebP or GIF'

/**
 * Checks an image by its bytes.
 *
 * @throws TypeError with the reason if the pages cannot show it
 */
export const logoImage = (body: Buffer): LogoImage => {
  if (body.length > maxLogoBytes) throw new TypeError(`it is larger than ${maxLogoBytes / 1024} kB`)
  const image = imageOf(body)
  if (image === undefined) throw new TypeError(`it is not a ${accepted} image`)
  const { type, width, height } = image
  const isFit = (pixels: number): boolean => pixels >= 1 && pixels <= maxPixels
  if (!isFit(width) || !isFit(height)) {
    throw new TypeError(`it has ${width} × ${height} pixels; at most ${maxPixels} × ${maxPixels} are allowed`)
  }
  return { hash: createHash('sha256').update(body).digest('base64url'), type, body }
}

const fetchImage = async (outbound: Outbound, uri: string): Promise<LogoImage> => {
  const { status, bytes } = await outbound.request(uri, {
    accept: 'image/webp, image/png, image/jpeg, image/gif',
    maxBytes: maxLogoBytes,
  })
  if (status !== 200) throw new TypeError(`the response has status ${status}`)
  return logoImage(bytes)
}

const refresh = async (
  { database, reach, options, now }: LogoContext,
  client: Client,
  uri: string,
): Promise<void> => {
  const { clientId, logo } = client
  // One process of several fetches.
  const claimed: ClientLogo = { uri, checkedAt: now() }
  if (!(await changeLogo(database, { clientId, from: logo, to: claimed }))) return
  try {
    const image = await fetchImage(reachOf({ reach }, client).outbound, uri)
    await changeLogo(database, { clientId, from: claimed, to: { ...claimed, hash: image.hash }, image })
  } catch (error) {
    if (!(error instanceof OutboundError || error instanceof TypeError)) throw error
    options.logger.warn(`latchkey: the logo of client ${clientId} cannot be shown: ${error.message}`)
  }
}

/**
 * Whether the logo has to be fetched: never for a file of the host, else for a new `logo_uri`, or some time after a failure.
 * An image that is there stays, so that its site cannot show users another one than the host has approved.
 */
const isDue = ({ logo, metadata: { logo_uri: uri } }: Client, now: number): boolean => {
  if (uri === undefined || (logo && logo.uri === undefined)) return false
  if (logo?.uri !== uri) return true
  const retryAt = logo.checkedAt + pauseAfterFailure
  return logo.hash === undefined && !isAhead(retryAt, now, pauseAfterFailure)
}

/** Fetches the logo of a client in the background, if that is due. The page that shows the client does not wait. */
export const keepLogo = (context: LogoContext, client: Client): void => {
  const { logo_uri: uri } = client.metadata
  if (uri !== undefined && isDue(client, context.now()))
    context.runInBackground(refresh(context, client, uri))
}
