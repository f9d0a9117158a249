import type { OperatorSection } from '../pages/operator-page-model.ts'
import type { Person, SignedContext, SignedPage } from './signed-page.ts'

// Pages for the people who operate the server, in English. Features describe them; the feature that decides who is an
// operator serves them all.

/** An operator, as the feature that let them in knows them. */
export interface Operator extends Person {
  /** What the host calls the operator; undefined if it did not say. */
  readonly actor: string | undefined
  /** The links to the other sections. */
  readonly sections: readonly OperatorSection[]
  /** The page about a client. */
  clientUrl(clientId: string): string
  /** The page about a user. */
  userUrl(subject: string): string
}

/** What the handlers of a page for operators get. They run only for those who may open it. */
export type OperatorContext = SignedContext<Operator>

/** A page for operators. */
export interface OperatorPage extends Pick<SignedPage<Operator>, 'path' | 'fields' | 'show' | 'acts'> {
  /** Its section; the first page of a section is the one that others link to, with the text `operator.<section>`. */
  readonly section: string
}
