import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { attack } from '../../lib/testing/index.ts'
import { expectFindings } from '../support/attacked-host.ts'
import { startExampleApp } from '../support/client-server-example-app.ts'

test('nothing is found in the example app', async () => {
  const { notesUrl: notes, journalUrl, data, close } = await startExampleApp()
  try {
    const report = await attack(notes, {
      issuer: `${notes}/oauth`,
      client: {
        client_id: 'journal',
        client_secret: readFileSync(join(data, 'secrets/journal'), 'utf8'),
        redirect_uri: `${journalUrl}/callback`,
        scope: 'openid email offline_access notes:read',
      },
      user: { username: 'mira@notes.example', password: 'seven green lanterns' },
      api: '/api/notes',
      wrongPasswords: 5,
    })
    expectFindings(report, {})
    expect(report.skipped.map(({ attack: name }) => name)).toEqual([
      'the host’s login page as an open redirector',
      'plain http under an https issuer',
      'codes and tokens used by another client',
    ])
  } finally {
    await close()
  }
}, 60_000)
