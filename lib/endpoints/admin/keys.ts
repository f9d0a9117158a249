import { redirectToPage } from '../../http/send.ts'
import { ownPath } from '../../http/urls.ts'
import { rotateKeys } from '../../keys/key-rotation.ts'
import { withStates } from '../../keys/key-schedule.ts'
import { signingAlgorithms } from '../../protocol/client-metadata.ts'
import { listSigningKeys } from '../../repositories/index.ts'
import { iso } from '../page-values.ts'
import {
  type AdminContext,
  adminEndpoint,
  adminForm,
  leaveAdminOutcome,
  noticeOf,
  sectionsOf,
  submittedForm,
  takeAdminOutcome,
} from './admin-endpoint.ts'

const path = '/admin/keys'

const show = async (context: AdminContext): Promise<void> => {
  const { database, now } = context.server
  const keys = withStates(await listSigningKeys(database), now())
  context.send('admin-keys', {
    sections: sectionsOf(context, 'keys'),
    keys: keys.map(({ kid, algorithm, state, createdAt, activeAt, retiredAt }) => ({
      id: kid,
      algorithm,
      kind: state,
      published: iso(createdAt),
      signsFrom: iso(activeAt),
      publishedUntil: retiredAt === null ? undefined : iso(retiredAt),
    })),
    rotate: adminForm(context, path, 'rotate'),
    notice: noticeOf(takeAdminOutcome(context, 'keys'), ['rotated']),
  })
}

const rotate = async (context: AdminContext): Promise<void> => {
  submittedForm(context, [])
  const { server, info, actor } = context
  const options = {
    ...server.options,
    keyPublished: (key: { keyId: string; algorithm: string; signsFrom: number }) =>
      server.events.announce('key.published', info, { ...key, ...(actor !== undefined && { actor }) }),
  }
  await rotateKeys(server.database, options, { algorithms: signingAlgorithms, now: server.now() })
  leaveAdminOutcome(context, 'keys', { act: 'rotated' })
  redirectToPage(context.res, ownPath(server, path))
}

/** The signing keys; publishes the next ones. */
export const adminKeysEndpoint = adminEndpoint(path, { GET: show, POST: rotate })
