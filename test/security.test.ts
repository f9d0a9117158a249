import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(__dirname, '..')
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const security = read('SECURITY.md')

describe('SECURITY.md', () => {
  const named = [...security.matchAll(/\]\((test\/[^)]+)\): “([^”]+)”/g)].map(
    ([, file = '', title = '']) => ({ file, title }),
  )

  test('names attacks for every threat of RFC 9700 §4', () => {
    const sections = [...security.matchAll(/^\| ([0-9., ]+) \|/gm)].flatMap(([, list = '']) =>
      list.split(', '),
    )
    expect(sections).toEqual(
      expect.arrayContaining(Array.from({ length: 17 }, (_, index) => `4.${index + 1}`)),
    )
    expect(named.length).toBeGreaterThan(35)
  })

  test.each(named)('$title is tried in $file', ({ file, title }) => {
    expect(read(file).replace(/\s+/g, ' ')).toContain(title)
  })

  test('links only what exists', () => {
    const links = [...security.matchAll(/\]\(((?!http)[^)#]+)[^)]*\)/g)].map(([, link = '']) => link)
    expect(links.filter((link) => !existsSync(join(root, link)))).toEqual([])
  })
})
