import { rotateKeys } from '../../keys/key-rotation.ts'
import { withStates } from '../../keys/key-schedule.ts'
import { type SigningAlgorithm, signingAlgorithms } from '../../protocol/clients/client-metadata.ts'
import { listSigningKeys, type SigningKeyRecord } from '../../storage/repositories/index.ts'
import type { OperatorPage } from '../../web/endpoints/operator-page.ts'
import { iso } from '../../web/endpoints/page-values.ts'
import { ownPath } from '../../web/http/urls.ts'
import { noticeOf } from '../../web/sessions/notice.ts'

const keysPath = '/admin/keys'
const publishPath = '/admin/publish-keys'

/** The signing keys. */
export const keysPage: OperatorPage = {
  path: keysPath,
  section: 'keys',
  async show(context) {
    const { server, person, notice } = context
    const keys = withStates(await listSigningKeys(server.database), server.now())
    context.send('operator-keys', {
      ...(await person.header()),
      keys: keys.map(({ kid, algorithm, state, createdAt, activeAt, retiredAt }) => ({
        id: kid,
        algorithm,
        kind: state,
        published: iso(createdAt),
        signsFrom: iso(activeAt),
        publishedUntil: retiredAt === null ? undefined : iso(retiredAt),
      })),
      publishUrl: ownPath(server, publishPath),
      notice: noticeOf(notice, ['rotated']),
    })
  },
}

/** The algorithms whose next key is not published yet. */
const algorithmsWithoutNext = (keys: readonly SigningKeyRecord[], now: number): SigningAlgorithm[] =>
  signingAlgorithms.filter((each) =>
    keys.every(({ algorithm, activeAt }) => algorithm !== each || activeAt <= now),
  )

/** Asks whether to publish the next signing keys, and says which and when they sign. */
export const publishKeysPage: OperatorPage = {
  path: publishPath,
  section: 'keys',
  async show(context) {
    const { server, person } = context
    const now = server.now()
    context.send('operator-publish-keys', {
      ...(await person.header()),
      algorithms: algorithmsWithoutNext(await listSigningKeys(server.database), now),
      signsFrom: iso(now + server.options.lifetimes.signingKeyLead),
      publish: context.form({}, 'publish'),
      cancelUrl: ownPath(server, keysPath),
    })
  },
  acts: {
    async publish({ server, info, person: { actor } }) {
      const options = {
        ...server.options,
        keyPublished: (key: { keyId: string; algorithm: string; signsFrom: number }) =>
          server.events.announce('key.published', info, { ...key, ...(actor !== undefined && { actor }) }),
      }
      await rotateKeys(server.database, options, { algorithms: signingAlgorithms, now: server.now() })
      return { path: keysPath, notice: { kind: 'rotated' } }
    },
  },
}
