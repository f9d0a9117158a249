import type { EventTone, SentencePart } from '../../../events/description.ts'

/** A field of an event in words. */
export interface EventFact {
  /** The text `operator-events.field.<name>`, or the name of the field as it is. */
  name: string
  /** A `time` is ISO 8601. */
  value: string
  kind: 'text' | 'time'
  /** A duration, shown instead of the value. */
  seconds?: number
  url?: string
}

/** An event on the page. */
export interface ShownEvent {
  type: string
  tone: EventTone
  /** ISO 8601. */
  time: string
  /** Hours, minutes and seconds in UTC. */
  clock: string
  sentence: readonly SentencePart[]
  facts: readonly EventFact[]
}
