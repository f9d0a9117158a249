#!/usr/bin/env bash
# What `npm test` leaves out: tests that are slow by nature, every case where it tries only some, and the tests that depend on
# the database on PostgreSQL and MariaDB.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
PATH="$PWD/node_modules/.bin:$PATH"
[ -d test/versions/node_modules ] || npm ci --no-audit --no-fund --prefix test/versions
export TEST_ALL=1 REQUIRE_VERSIONS=1

mapfile -t slow < <(find test/{browser/studio.test.ts,faults,import,mcp-hosts,package,recipes,upgrade} -name '*.test.ts' -not -path '*/node_modules/*')
status=0
# Tests that try more cases with TEST_ALL=1 import that file.
jest --findRelatedTests test/support/sample.ts "${slow[@]}" || status=$?
bash scripts/test-databases.sh || status=$?
exit "$status"
