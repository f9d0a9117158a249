/** A field of the form of a client. Its texts are `client-form.<name>`, and `client-form.<name>.hint` if that exists. */
export interface ClientFormField {
  /** The member of the metadata, and the name of the input. */
  name: string
  /** `lines`: one value on each line; `choices` post as `<name>:<value>`; a ticked `flag` posts `on`. */
  kind: 'text' | 'uri' | 'lines' | 'choice' | 'choices' | 'flag' | 'json'
  /** As it was typed, or is registered. */
  value: string
  /** Of `choice` and `choices`. */
  choices?: readonly {
    readonly value: string
    readonly isChosen: boolean
    /** Stands before the value, instead of `client-form.<name>.<value>`. */
    readonly words?: string
  }[]
  /** Why the value was refused, in English, as registration says it. */
  error?: string
}

/** The fields of a client. The page around them has the form, its hidden fields and its buttons. */
export interface ClientForm {
  /** In display order. */
  inputs: readonly ClientFormField[]
  /** Why the form was refused, in English, as registration says it. */
  error?: string
  /** The name of the field that the error is about, if it is about one. */
  refused?: string
}
