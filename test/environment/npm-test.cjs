const config = require('../../jest.config.cjs')

/** What `npm test` leaves to `npm run test:all`, because it is slow by nature. `npx jest` runs each file that it is given. */
const slow = ['browser/studio', 'faults', 'import', 'mcp-hosts', 'package', 'recipes', 'upgrade']

module.exports = { ...config, rootDir: '../..', testPathIgnorePatterns: [`/test/(${slow.join('|')})[./]`] }
