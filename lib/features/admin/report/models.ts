import type { OperatorPageModel } from '../../../web/pages/operator-page-model.ts'

declare module '../../../web/pages/page-models.ts' {
  interface PageModels {
    /** What security standards require of the server. */
    'operator-report': OperatorPageModel & {
      /** What there is to do first. */
      groups: readonly {
        kind: 'not-met' | 'host' | 'by-configuration' | 'met'
        rows: readonly {
          requirement: string
          /** The standard and the section, such as `RFC 9700 §2.1`. */
          source: string
          /** The setting that decides, what the app must do, or the test that shows it. */
          reason: string
        }[]
        /** Of `not-met`: the settings that would meet the requirements. */
        settings?: readonly {
          setting: string
          requirements: readonly string[]
          sources: readonly string[]
          /** The clients that it affects; absent if it affects none. */
          affected?: {
            /** `use`: what they sent of late says it. */
            by: 'registration' | 'use'
            count: number
            /** Enabled clients. */
            total: number
            /** Not all clients were looked at. */
            isMore: boolean
            /** The first of them. */
            clients: readonly { name: string; url: string }[]
          }
        }[]
      }[]
    }
  }
}
