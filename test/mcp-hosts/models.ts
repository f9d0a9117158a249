// A stand-in for the models of every vendor: whatever it is asked, it calls the tool that the prompt names, and then repeats
// what the tool said.

import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

/** Where a host finds its model. */
export interface Models {
  readonly origin: string
  /** What was asked, as it came, for a run that fails. */
  readonly asked: { readonly path: string; readonly body: unknown }[]
  close(): void
}

// biome-ignore lint/suspicious/noExplicitAny: the bodies of four vendors.
type Body = any

/** One answer: a tool to call, or a text. */
type Turn = { readonly tool: string; readonly namespace?: string } | { readonly say: string }

interface Tool {
  readonly name: string
  readonly namespace?: string
}

const flat = (tools: Body[] = [], namespace?: string): Tool[] =>
  tools.flatMap((tool): Tool[] => {
    if (tool.type === 'namespace') return flat(tool.tools, tool.name)
    if (tool.functionDeclarations) return flat(tool.functionDeclarations)
    const name = tool.name ?? tool.function?.name
    return name === undefined ? [] : [{ name, ...(namespace !== undefined && { namespace }) }]
  })

/** The tool that the last prompt names, unless it was called since. */
const turnOf = (messages: Body[], tools: Body[]): Turn => {
  const texts = messages.map((message) => JSON.stringify(message))
  const prompt = texts.findLastIndex((message) => /call the tool (list_orders|cancel_order)/.test(message))
  const [, wanted = ''] = /call the tool (list_orders|cancel_order)/.exec(texts[prompt] ?? '') ?? []
  const since = texts.slice(prompt + 1).join()
  const isCalled = /tool_result|function_call_output|functionResponse|"role":"tool"/.test(since)
  const tool = flat(tools).find(({ name }) => name.endsWith(wanted))
  if (wanted === '' || isCalled || tool === undefined) return { say: 'Done.' }
  return { tool: tool.name, ...(tool.namespace !== undefined && { namespace: tool.namespace }) }
}

type Events = readonly (readonly [event: string | undefined, data: unknown])[]

const anthropic = (turn: Turn): Events => {
  const block =
    'tool' in turn
      ? { type: 'tool_use', id: `toolu_${Date.now()}`, name: turn.tool, input: {} }
      : { type: 'text', text: '' }
  const delta =
    'tool' in turn ? { type: 'input_json_delta', partial_json: '{}' } : { type: 'text_delta', text: turn.say }
  const usage = { input_tokens: 1, output_tokens: 1 }
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'lab', content: [], usage }
  return [
    ['message_start', { type: 'message_start', message }],
    ['content_block_start', { type: 'content_block_start', index: 0, content_block: block }],
    ['content_block_delta', { type: 'content_block_delta', index: 0, delta }],
    ['content_block_stop', { type: 'content_block_stop', index: 0 }],
    [
      'message_delta',
      { type: 'message_delta', delta: { stop_reason: 'tool' in turn ? 'tool_use' : 'end_turn' }, usage },
    ],
    ['message_stop', { type: 'message_stop' }],
  ]
}

const responses = (turn: Turn): Events => {
  const item =
    'tool' in turn
      ? {
          type: 'function_call',
          id: 'fc_1',
          call_id: `call_${Date.now()}`,
          name: turn.tool,
          arguments: '{}',
          ...(turn.namespace !== undefined && { namespace: turn.namespace }),
        }
      : {
          type: 'message',
          id: 'msg_1',
          role: 'assistant',
          content: [{ type: 'output_text', text: turn.say, annotations: [] }],
        }
  const usage = {
    input_tokens: 1,
    input_tokens_details: null,
    output_tokens: 1,
    output_tokens_details: null,
    total_tokens: 2,
  }
  return [
    ['response.created', { type: 'response.created', response: { id: 'resp_1' } }],
    ['response.output_item.done', { type: 'response.output_item.done', output_index: 0, item }],
    ['response.completed', { type: 'response.completed', response: { id: 'resp_1', output: [item], usage } }],
  ]
}

const completions = (turn: Turn): Events => {
  const delta =
    'tool' in turn
      ? {
          role: 'assistant',
          tool_calls: [
            {
              index: 0,
              id: `call_${Date.now()}`,
              type: 'function',
              function: { name: turn.tool, arguments: '{}' },
            },
          ],
        }
      : { role: 'assistant', content: turn.say }
  const chunk = (choice: object) => ({
    id: 'c1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'lab',
    choices: [{ index: 0, ...choice }],
  })
  return [
    [undefined, chunk({ delta, finish_reason: null })],
    [undefined, chunk({ delta: {}, finish_reason: 'tool' in turn ? 'tool_calls' : 'stop' })],
    [undefined, '[DONE]'],
  ]
}

const gemini = (turn: Turn): Events => {
  const part = 'tool' in turn ? { functionCall: { name: turn.tool, args: {} } } : { text: turn.say }
  const candidate = { content: { role: 'model', parts: [part] }, finishReason: 'STOP', index: 0 }
  return [[undefined, { candidates: [candidate], usageMetadata: { totalTokenCount: 2 } }]]
}

const eventStream = (events: Events): string =>
  events
    .map(([event, data]) => {
      const line = `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`
      return event === undefined ? line : `event: ${event}\n${line}`
    })
    .join('')

/** What an answer without a stream would hold. */
const whole = (path: string, turn: Turn): unknown => {
  if (path.includes(':generateContent')) return gemini(turn)[0]?.[1]
  if (path.endsWith('/messages')) {
    const content =
      'tool' in turn
        ? [{ type: 'tool_use', id: 'toolu_1', name: turn.tool, input: {} }]
        : [{ type: 'text', text: turn.say }]
    const usage = { input_tokens: 1, output_tokens: 1 }
    return {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'lab',
      content,
      stop_reason: 'end_turn',
      usage,
    }
  }
  const message = { role: 'assistant', content: 'say' in turn ? turn.say : '' }
  return {
    id: 'c1',
    object: 'chat.completion',
    created: 1,
    model: 'lab',
    choices: [{ index: 0, message, finish_reason: 'stop' }],
  }
}

const answerTo = (path: string, body: Body): { stream: string } | { json: unknown } | undefined => {
  const turn = turnOf(body.messages ?? body.input ?? body.contents ?? [], body.tools)
  if (path.endsWith('/responses')) return { stream: eventStream(responses(turn)) }
  if (path.includes(':streamGenerateContent')) return { stream: eventStream(gemini(turn)) }
  if (path.endsWith('/messages') && body.stream) return { stream: eventStream(anthropic(turn)) }
  if (path.endsWith('/chat/completions') && body.stream) return { stream: eventStream(completions(turn)) }
  if (path.endsWith('/count_tokens')) return { json: { input_tokens: 1 } }
  if (/\/(?:messages|chat\/completions)$|:generateContent/.test(path)) return { json: whole(path, turn) }
  return undefined
}

const json = async (req: IncomingMessage): Promise<Body> => {
  try {
    return JSON.parse(await text(req))
  } catch {
    return {}
  }
}

export const openModels = async (): Promise<Models> => {
  const asked: Models['asked'] = []
  const server = createServer(async (req, res) => {
    const path = new URL(req.url ?? '/', 'http://localhost').pathname
    const body = await json(req)
    asked.push({ path, body })
    if (req.method === 'GET' && path.endsWith('/models')) {
      const list = { object: 'list', data: [{ id: 'lab', object: 'model' }], models: [] }
      res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(list))
      return
    }
    const answer = answerTo(path, body)
    if (answer === undefined) res.writeHead(404, { 'content-type': 'application/json' }).end('{}')
    else if ('stream' in answer)
      res.writeHead(200, { 'content-type': 'text/event-stream' }).end(answer.stream)
    else res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer.json))
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}
