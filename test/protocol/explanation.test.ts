import { splitAtDifference } from '../../lib/protocol/explanation.ts'

describe('what was received is split where it first differs from what was expected', () => {
  const callback = 'https://desk.example.com/callback'

  test.each([
    ['a slash at the end', `one of ${callback}`, `${callback}/`, [callback, '/']],
    ['another scheme', callback, callback.replace('https', 'http'), ['http', '://desk.example.com/callback']],
    [
      'the most similar of several',
      `one of https://other.example ${callback}`,
      `${callback}?x`,
      [callback, '?x'],
    ],
    ['something missing at the end', callback, callback.slice(0, -1), [callback.slice(0, -1), '']],
    ['nothing alike', callback, 'web', ['', 'web']],
    ['words about a value', 'the id of a client', 'web, which is disabled', ['web, which is disabled', '']],
  ])('%s', (_, expected, received, parts) => {
    expect(splitAtDifference({ expected, received })).toEqual(parts)
  })
})
