import {
  leaveOperatorOutcome,
  noticeOf,
  type OperatorContext,
  type OperatorPage,
  operatorForm,
  submittedForm,
  takeOperatorOutcome,
} from '../../endpoints/operator-page.ts'
import { iso } from '../../endpoints/page-values.ts'
import { redirectToPage } from '../../http/send.ts'
import { ownPath } from '../../http/urls.ts'
import { rotateKeys } from '../../keys/key-rotation.ts'
import { withStates } from '../../keys/key-schedule.ts'
import { signingAlgorithms } from '../../protocol/clients/client-metadata.ts'
import { listSigningKeys } from '../../repositories/index.ts'

const path = '/admin/keys'

const show = async (context: OperatorContext): Promise<void> => {
  const { database, now } = context.server
  const keys = withStates(await listSigningKeys(database), now())
  context.send('operator-keys', {
    sections: context.sections,
    keys: keys.map(({ kid, algorithm, state, createdAt, activeAt, retiredAt }) => ({
      id: kid,
      algorithm,
      kind: state,
      published: iso(createdAt),
      signsFrom: iso(activeAt),
      publishedUntil: retiredAt === null ? undefined : iso(retiredAt),
    })),
    rotate: operatorForm(context, path, 'rotate'),
    notice: noticeOf(takeOperatorOutcome(context, 'keys'), ['rotated']),
  })
}

const rotate = async (context: OperatorContext): Promise<void> => {
  submittedForm(context, [])
  const { server, info, actor } = context
  const options = {
    ...server.options,
    keyPublished: (key: { keyId: string; algorithm: string; signsFrom: number }) =>
      server.events.announce('key.published', info, { ...key, ...(actor !== undefined && { actor }) }),
  }
  await rotateKeys(server.database, options, { algorithms: signingAlgorithms, now: server.now() })
  leaveOperatorOutcome(context, 'keys', { act: 'rotated' })
  redirectToPage(context.res, ownPath(server, path))
}

/** The signing keys; publishes the next ones. */
export const keysPage: OperatorPage = {
  path,
  section: 'keys',
  GET: show,
  POST: rotate,
}
