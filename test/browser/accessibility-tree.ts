import type { CDPSession, Page } from 'playwright-core'

type Tree = Awaited<ReturnType<typeof getTree>>
type Node = Tree[number]

const getTree = async (session: CDPSession) => (await session.send('Accessibility.getFullAXTree')).nodes

/** What a screen reader is told of a page that has opened. */
export interface Heard {
  readonly title: string
  /** The role and name of what has the focus; the words of a message; empty at the start of the page. */
  readonly focus: string
  /** Every message in a live region with words. */
  readonly messages: readonly string[]
}

const isMessage = ({ role }: Node): boolean => role?.value === 'alert' || role?.value === 'status'
const hasFocus = ({ properties = [] }: Node): boolean =>
  properties.some(({ name, value }) => name === 'focused' && value.value === true)

/** Reads the accessibility tree of a page, as Chromium gives it to a screen reader. */
export const heardOn = async (page: Page): Promise<Heard> => {
  const session = await page.context().newCDPSession(page)
  const tree = await getTree(session)
  await session.detach()
  const nodes = new Map(tree.map((node) => [node.nodeId, node]))
  const wordsOf = (node: Node | undefined): string => {
    if (node?.role?.value === 'StaticText') return String(node.name?.value)
    return (node?.childIds ?? [])
      .map((id) => wordsOf(nodes.get(id)))
      .filter((words) => words !== '')
      .join(' ')
  }
  const lineOf = (node: Node): string =>
    `${node.role?.value}: ${
      isMessage(node)
        ? wordsOf(node)
            .replaceAll(/\s+/g, ' ')
            .replaceAll(/ (?=[.,:])/g, '')
        : (node.name?.value ?? '')
    }`
  const [root] = tree
  // The page has the focus as well as the control in it.
  const focus = tree.slice(1).find(hasFocus)
  return {
    title: String(root?.name?.value),
    focus: focus ? lineOf(focus) : '',
    messages: tree.filter((node) => isMessage(node) && wordsOf(node) !== '').map(lineOf),
  }
}
