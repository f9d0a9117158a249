#!/usr/bin/env bash
# Runs the tests that depend on the database on PostgreSQL and MariaDB at the same time; most of the time each waits
# for its server. The other flows use the same statements.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
PATH="$PWD/node_modules/.bin:$PATH"

flows=(authorize refresh-token meanwhile login host-login consent throttle organizations user-lifecycle pruning
  registration metadata-documents resources jwt-bearer token-exchange import client-logos pushed-requests disabling second-factor totp
  passkeys webhooks sessions-and-authorizations service-accounts organization-apps organization-apps-sequences)
flows=("${flows[@]/%/.test.ts}")
# The other tests of repositories open both servers themselves, so `npm test` runs them.
tests=(test/attacks/used-twice.test.ts test/repositories/plans.test.ts test/repositories/schema-version.test.ts test/upgrade/upgrade.test.ts test/upgrade/side-by-side.test.ts "${flows[@]/#/test/flows/}")
# jest takes no notice of a file that does not exist.
ls -d "${tests[@]}" >/dev/null
postgres="${TEST_POSTGRES_URL:-postgres://postgres@127.0.0.1:5432/test}"
mariadb="${TEST_MARIADB_URL:-mysql://root@127.0.0.1:3306/test}"

log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
DATABASE_URL="$postgres" jest --maxWorkers=2 "${tests[@]}" >"$log" 2>&1 &
DATABASE_URL="$mariadb" jest --maxWorkers=2 "${tests[@]}" || status=$?
wait $! || status=$?
printf '\nThat was MariaDB. PostgreSQL:\n'
cat "$log"
exit "$status"
