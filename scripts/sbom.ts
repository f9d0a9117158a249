/**
 * Writes the bill of materials of what `npm install latchkey` brings, by npm's own command: `latchkey-VERSION.cdx.json` and
 * `latchkey-VERSION.spdx.json`, in the folder that the first argument names. In a checkout `npm sbom --omit=dev` would
 * leave out packages that development needs as well, so it runs beside a manifest without development.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

const { name, version, license, dependencies } = JSON.parse(
  readFileSync(resolve(import.meta.dirname, '../package.json'), 'utf8'),
)
const target = resolve(process.argv[2] ?? '.')
const folder = mkdtempSync(join(tmpdir(), 'latchkey-sbom-'))
const npm = (...args: string[]): string => execFileSync('npm', args, { cwd: folder, encoding: 'utf8' })
try {
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name, version, license, dependencies }))
  npm('install', '--package-lock-only', '--ignore-scripts', '--no-audit', '--no-fund')
  for (const [format, ending] of [
    ['cyclonedx', 'cdx'],
    ['spdx', 'spdx'],
  ] as const) {
    const text = npm('sbom', '--package-lock-only', `--sbom-format=${format}`)
    const missing = Object.keys(dependencies).filter(
      (each) => !text.includes(`pkg:npm/${each.replace('@', '%40')}@`),
    )
    if (missing.length > 0) throw new Error(`npm sbom leaves out ${missing.join(', ')}`)
    writeFileSync(join(target, `${name}-${version}.${ending}.json`), text)
  }
} finally {
  rmSync(folder, { recursive: true })
}
