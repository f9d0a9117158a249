// better-sqlite3 13, which development uses, crashes Node 20. `npm ci` installs a newer Node unless it skips scripts.
const version = process.versions.node
if (Number(version.split('.')[0]) < 22) {
  console.error(
    `Node ${version} is too old: run npm ci without --ignore-scripts, or install Node 22 or newer`,
  )
  process.exit(1)
}
