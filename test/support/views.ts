import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { pages } from '../../lib/options/pages.ts'
import { samples as ofCore } from '../../lib/tools/samples/index.ts'
import type { Sample } from '../../lib/tools/samples/sample.ts'
import { createLanguages as createFor } from '../../lib/web/pages/i18n/languages.ts'
import { isOperatorPage } from '../../lib/web/pages/page-models.ts'
import { createViews as create } from '../../lib/web/pages/views.ts'
import { everyFeature } from './features.ts'

type Options = Parameters<typeof create>[0]

/** Languages with the texts of the core and of every feature. */
export const createLanguages = (options: Parameters<typeof createFor>[0]) => createFor(options, everyFeature)

/** A translation of the core together with those of the features. */
export const withFeatures = <T extends { language: string; texts: object }>(translation: T): T => ({
  ...translation,
  texts: Object.assign(
    {},
    translation.texts,
    ...everyFeature.map(({ texts }) => texts?.pages?.[translation.language]),
  ),
})

/** The pages of the core and of every feature. */
export const createViews = (options: Options) =>
  create({ languages: createLanguages({ pages: options.pages, scopes: {} }), ...options })

/** The option `pages`, checked. */
export const look = (given: object = {}) => pages.check(given, 'pages')

const folder = join(__dirname, '../../lib/features')

const samplesOf = (feature: string): readonly Sample[] => {
  const file = join(folder, feature, 'samples.ts')
  return existsSync(file) ? require(file).samples : []
}

/** Every state of the pages of features. */
export const featureSamples: readonly Sample[] = readdirSync(folder).flatMap(samplesOf)

/** Every state of every page of the core and of every feature. */
export const allSamples: readonly Sample[] = [...ofCore, ...featureSamples]

/** The same without the pages for operators, which are in English only. */
export const samples: readonly Sample[] = allSamples.filter(({ page }) => !isOperatorPage(page))
