import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { attack } from '../../lib/testing/index.ts'
import { expectFindings } from '../support/attacked-host.ts'

const root = join(__dirname, '../..')

/** Runs work beside the example app, as `npm start` runs it, in a data folder of its own. */
const withExampleApp = async (work: (output: string, data: string) => Promise<void>): Promise<void> => {
  const data = mkdtempSync(join(tmpdir(), 'latchkey-example-'))
  const child = spawn(process.execPath, ['--import', 'tsx', 'example-app/start.ts'], {
    cwd: root,
    env: { ...process.env, NODE_ENV: 'development', PORT: '0', JOURNAL_PORT: '0', NOTES_DATA: data },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => resolve())
  })
  try {
    await new Promise<void>((resolve, reject) => {
      for (const stream of [child.stdout, child.stderr]) {
        stream.on('data', (chunk) => {
          output += chunk
          if (output.includes('Ready:')) resolve()
        })
      }
      ended.then(() => reject(new Error(`the example app ended\n${output}`)))
    })
    await work(output, data)
  } finally {
    child.kill('SIGTERM')
    await ended
    rmSync(data, { recursive: true, force: true })
  }
}

const urlIn = (output: string, name: string): string =>
  new RegExp(`${name} +(http://localhost:\\d+)`).exec(output)?.[1] ?? ''

test('nothing is found in the example app', async () => {
  await withExampleApp(async (output, data) => {
    const notes = urlIn(output, 'Notes')
    const report = await attack(notes, {
      issuer: `${notes}/oauth`,
      client: {
        client_id: 'journal',
        client_secret: readFileSync(join(data, 'secrets/journal'), 'utf8'),
        redirect_uri: `${urlIn(output, 'Journal')}/callback`,
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
  })
}, 60_000)
