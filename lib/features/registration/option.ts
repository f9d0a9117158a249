import type { MetadataDocumentOptions, RegistrationOptions } from '../../options/options.ts'

/** The checked options `features.registration` and `features.clientMetadataDocuments`; at least one of them is on. */
export interface RegistrationOption {
  readonly registration: RegistrationOptions | undefined
  readonly documents: MetadataDocumentOptions | undefined
}
