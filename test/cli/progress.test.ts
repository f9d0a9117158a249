import { withProgress } from '../../lib/tools/cli/progress.ts'

/** What is written while the work reports its progress every 4 seconds, and what it writes itself at the end. */
const written = async (screen: { isTTY?: boolean; columns?: number }, fails = false): Promise<string> => {
  let [text, now] = ['', 0]
  const write = (more: string): void => {
    text += more
  }
  const work = withProgress(
    async (say) => {
      for (const step of [0, 1, 2, 3, 4, 5, 6]) {
        now = step * 4000
        say(`step ${step} is done`)
        say('in the same moment')
      }
      if (fails) throw new Error('the disk is full')
    },
    { screen: { ...screen, write }, clock: () => now },
  )
  await work.catch(() => write('failed'))
  return text
}

afterEach(() => jest.restoreAllMocks())

test('progress is one terminal line without colours, erased before the result or the error', async () => {
  jest.replaceProperty(process, 'env', { ...process.env, TERM: 'xterm' })
  const line = (text: string): string => `\r\u001B[K${text}\r`
  const lines = [0, 1, 2, 3, 4, 5, 6].map((step) => line(`step ${step} is done`)).join('')
  expect(await written({ isTTY: true, columns: 0 })).toBe(`${lines}\r\u001B[K`)
  expect(await written({ isTTY: true }, true)).toBe(`${lines}\r\u001B[Kfailed`)
  expect(await written({ isTTY: true, columns: 7 })).toContain(line('step 0'))
})

test('elsewhere progress is a line every ten seconds', async () => {
  expect(await written({})).toBe('step 3 is done\nstep 6 is done\n')
  jest.replaceProperty(process, 'env', { ...process.env, TERM: 'dumb' })
  expect(await written({ isTTY: true })).toBe('step 3 is done\nstep 6 is done\n')
})
