#!/usr/bin/env bash
# Shows that a feature is a room of its own: in a copy of the checkout it removes the folder of the feature and its lines
# in lib/features/index.ts, and then the types of lib and the tests of the core's flows must pass.
#
#   scripts/without.sh personal-tokens
set -euo pipefail

name=${1:?usage: scripts/without.sh NAME, a folder of lib/features}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
[ -d "$root/lib/features/$name" ] || { echo "lib/features/$name does not exist" >&2; exit 2; }

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
(cd "$root" && git ls-files -z --cached --others --exclude-standard | tar --null --files-from=- --create --ignore-failed-read --file=-) |
  tar --extract --file=- --directory "$copy"
ln -sfn "$root/node_modules" "$copy/node_modules"

cd "$copy"
rm -r "lib/features/$name"
perl -0pi -e "s#^(?:im|ex)port (?:type )?\{[^}]*\} from '\./$name/[^\n]*\n##mg" lib/features/index.ts
exported=$(sed -nE "s/^export interface (Exported\w+) .*/\1/p" "$root/lib/features/$name/declarations.ts" 2>/dev/null || true)
for each in $exported; do sed -i "/interface [A-Za-z]*Export extends $each {}/d" lib/features/index.ts; done
# Tests of the feature itself are not part of the core.
{ grep -rlE "features/$name/|support/$name\.ts" test bench scripts --include=*.ts || true; } | xargs -r rm -f

# Tests and the example name the options of every feature.
npx tsc --noEmit -p tsconfig.build.json
npx jest test/flows/authorize.test.ts test/flows/consent.test.ts test/flows/refresh-token.test.ts test/flows/login.test.ts
