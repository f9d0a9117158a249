/** Writes THIRD-PARTY.md from package-lock.json. */
import { readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { thirdParty } from './third-party-list.ts'

const root = resolve(import.meta.dirname, '..')
const lock = JSON.parse(readFileSync(resolve(root, 'package-lock.json'), 'utf8'))
writeFileSync(resolve(root, 'THIRD-PARTY.md'), thirdParty(lock.packages))
