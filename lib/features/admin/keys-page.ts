import type { OperatorPage } from '../../endpoints/operator-page.ts'
import { iso } from '../../endpoints/page-values.ts'
import { rotateKeys } from '../../keys/key-rotation.ts'
import { withStates } from '../../keys/key-schedule.ts'
import { signingAlgorithms } from '../../protocol/clients/client-metadata.ts'
import { listSigningKeys } from '../../repositories/index.ts'
import { noticeOf } from '../../sessions/notice.ts'

/** The signing keys; publishes the next ones. */
export const keysPage: OperatorPage = {
  path: '/admin/keys',
  section: 'keys',
  async show(context) {
    const { database, now } = context.server
    const keys = withStates(await listSigningKeys(database), now())
    context.send('operator-keys', {
      sections: context.person.sections,
      keys: keys.map(({ kid, algorithm, state, createdAt, activeAt, retiredAt }) => ({
        id: kid,
        algorithm,
        kind: state,
        published: iso(createdAt),
        signsFrom: iso(activeAt),
        publishedUntil: retiredAt === null ? undefined : iso(retiredAt),
      })),
      rotate: context.form({}, 'rotate'),
      notice: noticeOf(context.notice, ['rotated']),
    })
  },
  acts: {
    async rotate({ server, info, person: { actor } }) {
      const options = {
        ...server.options,
        keyPublished: (key: { keyId: string; algorithm: string; signsFrom: number }) =>
          server.events.announce('key.published', info, { ...key, ...(actor !== undefined && { actor }) }),
      }
      await rotateKeys(server.database, options, { algorithms: signingAlgorithms, now: server.now() })
      return { notice: { kind: 'rotated' } }
    },
  },
}
