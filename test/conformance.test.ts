import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const table = readFileSync(join(__dirname, 'CONFORMANCE.md'), 'utf8')

interface Row {
  readonly module: string
  readonly tests: readonly { readonly file: string; readonly title: string }[]
}

const rows: Row[] = table
  .split('\n')
  .filter((line) => line.startsWith('| `'))
  .map((line) => {
    const [module = '', , tests = ''] = line.split(' | ')
    return {
      module: /`([^`]+)`/.exec(module)?.[1] ?? '',
      tests: [...tests.matchAll(/`([^`]+\.test\.ts)` › (.*?)(?=; `[^`]+\.test\.ts` › | \|$)/g)].map(
        ([, file = '', title = '']) => ({ file, title }),
      ),
    }
  })

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

/** Whether a file has a test of this title: `test('title'`, or the title at the end of a `test.each(…)`. */
const hasTest = (file: string, title: string): boolean => {
  const source = readFileSync(join(__dirname, file), 'utf8')
  const found = new RegExp(`(\\btest|\\))\\(\\s*(['"\`])${escaped(title)}\\2,`).test(source)
  return (
    found && !new RegExp(`describe(\\.each\\([^)]*\\))?\\(\\s*(['"\`])${escaped(title)}\\2,`).test(source)
  )
}

test('no module is listed twice, and each of the ten profiles is listed', () => {
  const modules = rows.map(({ module }) => module)
  expect(new Set(modules).size).toBe(modules.length)
  for (const [prefix, count] of [
    ['oidcc-', 75],
    ['oidcc-rp-initiated-logout', 11],
    ['oidcc-backchannel-', 2],
    ['oidcc-frontchannel-', 2],
    ['oidcc-3rd_party-', 2],
    ['form_post', 3],
  ] as const) {
    expect(modules.filter((module) => module.startsWith(prefix))).toHaveLength(count)
  }
})

test.each(rows.map(({ module, tests }) => [module, tests] as const))('%s has its tests', (_, tests) => {
  expect(tests).not.toEqual([])
  for (const { file, title } of tests)
    expect({ file, title, exists: hasTest(file, title) }).toMatchObject({ exists: true })
})

test('a title that no test has is reported', () => {
  const title = 'no module is listed twice, and each of the ten profiles is listed'
  expect(hasTest('conformance.test.ts', title)).toBe(true)
  expect(hasTest('conformance.test.ts', 'no module is listed twice')).toBe(false)
})
