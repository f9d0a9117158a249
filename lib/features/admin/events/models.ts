import type { EventGroup, EventTone, SentencePart } from '../../../events/description.ts'
import type { OperatorPageModel } from '../../../web/pages/operator-page-model.ts'

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

declare module '../../../web/pages/page-models.ts' {
  // Values may come from strangers.
  interface PageModels {
    'operator-events': OperatorPageModel & {
      /** Whether events are stored. */
      isOn: boolean
      action: string
      /** What was searched for; empty strings stand for everything. The times are those of the inputs, in UTC. */
      filter: {
        user: string
        client: string
        type: string
        errorId: string
        from: string
        to: string
        span: string
      }
      /** Spans until now. */
      spans: readonly { kind: 'all' | 'hour' | 'day' | 'week'; url: string; isCurrent: boolean }[]
      /** The types of events that can be chosen. */
      groups: readonly {
        group: EventGroup
        types: readonly { type: string; title: string }[]
      }[]
      /** Newest first. */
      days: readonly { date: string; events: readonly ShownEvent[] }[]
      /** How far the search went, if older events remain that were not searched. */
      searchedTo?: string
      /** Older events. */
      nextUrl?: string
      /** The newest events. */
      previousUrl?: string
    }
  }
}
