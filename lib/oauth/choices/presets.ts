import type { Parameters } from '../../protocol/parameters.ts'
import type { ConsentPreset, ConsentScope } from '../../web/pages/page-models.ts'

/** A line of the consent page, as the page or its wording has it. */
type Line = Pick<ConsentScope, 'name' | 'optional' | 'isHighRisk'> & {
  readonly group: string
  readonly risk?: 'high'
}

/** Whether "Read only" leaves a line out: it changes something, or it is sensitive. */
const isLeftOut = ({ group, isHighRisk, risk }: Line): boolean =>
  group === 'change' || isHighRisk === true || risk === 'high'

/** Whether "Read only" would be true: it leaves something out, and all that it leaves out is optional. */
const mayRead = (lines: readonly Line[]): boolean => {
  const out = lines.filter(isLeftOut)
  return out.length > 0 && out.length < lines.length && out.every(({ optional }) => optional)
}

/** The answers to all lines at once, where users choose things and a line is optional. */
const presetsOf = (lines: readonly Line[]): readonly ConsentPreset[] => {
  if (!lines.some(({ optional }) => optional)) return []
  return mayRead(lines) ? ['all', 'read', 'choose'] : ['all', 'choose']
}

/** Facts that decide which answer is selected at first. */
export interface FirstPreset {
  /** Whether the user has filled the page in already. */
  readonly isDraft: boolean
  /** Whether the user allowed the client something before. */
  readonly isKnown: boolean
  /** Whether the host vouches for the client. */
  readonly isVouchedFor: boolean
}

/** The answer that says what was allowed before, or what is ticked. A new client for which the host does not vouch gets "Read only". */
const firstPreset = (
  lines: readonly (Line & Pick<ConsentScope, 'checked' | 'isNew'>)[],
  { isDraft, isKnown, isVouchedFor }: FirstPreset,
): ConsentPreset => {
  const hadRead = isKnown && lines.every((line) => line.isNew === isLeftOut(line))
  if (!isDraft && mayRead(lines) && (hadRead || !(isKnown || isVouchedFor))) return 'read'
  const optional = lines.filter((line) => line.optional)
  if (optional.every(({ checked }) => checked)) return 'all'
  return mayRead(lines) && optional.every((line) => line.checked !== isLeftOut(line)) ? 'read' : 'choose'
}

/** The presets of a page, and its lines with what "Read only" leaves out. */
export const withPresets = (
  lines: readonly ConsentScope[],
  first: FirstPreset,
): {
  readonly presets?: readonly ConsentPreset[]
  readonly preset?: ConsentPreset
  scopes: ConsentScope[]
} => {
  const presets = presetsOf(lines)
  if (presets.length === 0) return { scopes: [...lines] }
  const scopes = lines.map((line) => ({ ...line, ...(isLeftOut(line) && { isLeftOut: true }) }))
  return { presets, preset: firstPreset(lines, first), scopes }
}

/** The lines of the preset that a form names; undefined if those count that are ticked. */
export const presetEntries = (lines: readonly Line[], form: Parameters): string[] | undefined => {
  const preset = presetsOf(lines).find((each) => each === form.optional('preset'))
  if (preset === 'all') return lines.map(({ name }) => name)
  return preset === 'read' ? lines.filter((line) => !isLeftOut(line)).map(({ name }) => name) : undefined
}
