/**
 * A kind of thing that features add to the server, such as grants. The file that uses the things makes the point, so neither this
 * file nor the server knows a feature.
 *
 * @typeParam Thing what a feature adds
 */
export interface ExtensionPoint<Thing> {
  readonly name: string
  /** Never set: it only ties the type of the things to the point. */
  readonly thing?: Thing
}

/** @example const featureGrants = extensionPoint<Grant>('oauth.grants') */
export const extensionPoint = <Thing>(name: string): ExtensionPoint<Thing> => ({ name })

/** The things of one feature at one point. */
export interface Addition {
  readonly point: ExtensionPoint<unknown>
  readonly things: readonly unknown[]
}

/** Adds things at a point. Undefined things are none. */
export const addition = <Thing>(
  point: ExtensionPoint<Thing>,
  things: readonly (NoInfer<Thing> | undefined)[] = [],
): Addition => ({ point, things: things.filter((thing) => thing !== undefined) })

/** Returns what all features add at a point, in the order of the list. */
export type Added = <Thing>(point: ExtensionPoint<Thing>) => readonly Thing[]

/** Collects what features add. */
export const collected = (additions: readonly Addition[]): Added => {
  const all = new Map<ExtensionPoint<unknown>, readonly unknown[]>()
  for (const { point, things } of additions) all.set(point, [...(all.get(point) ?? []), ...things])
  // Only `addition` brings things to a point, and they have its type.
  return <Thing>(point: ExtensionPoint<Thing>) => (all.get(point) ?? []) as readonly Thing[]
}

/** Fields of the discovery document (RFC 8414 §2). */
export const metadataFields = extensionPoint<Readonly<Record<string, unknown>>>('oauth.metadata')
