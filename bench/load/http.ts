import { type Agent, request as httpRequest } from 'node:http'

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
}

export interface Ask {
  readonly method?: 'GET' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  readonly form?: Readonly<Record<string, string>>
}

const timeoutMs = 10_000

/**
 * Sends a request on a keep-alive connection.
 *
 * @throws Error if no response arrives within ten seconds
 */
export const send = (agent: Agent, url: string | URL, ask: Ask = {}): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const body = ask.form && new URLSearchParams(ask.form).toString()
    const headers = {
      ...ask.headers,
      ...(body === undefined
        ? {}
        : {
            'content-type': 'application/x-www-form-urlencoded',
            'content-length': String(Buffer.byteLength(body)),
          }),
    }
    const request = httpRequest(url, { agent, method: ask.method ?? 'GET', headers }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text: Buffer.concat(chunks).toString('utf8'),
        }),
      )
      response.on('error', reject)
    })
    request.setTimeout(timeoutMs, () => request.destroy(new Error(`no response from ${url}`)))
    request.on('error', reject)
    request.end(body)
  })

/** The header of HTTP Basic authentication. */
export const basic = (id: string, secret: string): Record<string, string> => ({
  authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
})

/** @throws Error with the failed expectation and the response */
export const expect = (holds: boolean, what: string, answer: Answer): void => {
  if (!holds) {
    const { location } = answer.headers
    throw new Error(
      `wrong response: ${what}: ${answer.status} ${location ?? ''} ${answer.text.slice(0, 600)}`,
    )
  }
}

/** Parses the JSON of a response, which must have this status. */
export const jsonOf = (answer: Answer, status = 200): Record<string, unknown> => {
  expect(answer.status === status, `status is not ${status}`, answer)
  return JSON.parse(answer.text)
}
