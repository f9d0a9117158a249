/** One answer of an endpoint that speaks JSON. */
export interface Answer {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
}

/** A form, posted; with a token, as a bearer of it. */
export const postForm = async (
  url: string,
  fields: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> => {
  const res = await fetch(url, { method: 'POST', body: new URLSearchParams(fields), headers })
  const text = await res.text()
  return { status: res.status, body: text === '' ? {} : JSON.parse(text) }
}

/** How often a client retries after 503; a 503 after the last retry is a fault. */
const timeoutMs = 20

/** Posts a form, and again for as long as the answer is 503: on a busy machine, what lost against others may come again. */
export const insist = async (url: string, fields: Readonly<Record<string, string>>): Promise<Answer> => {
  for (let attempt = 1; ; attempt += 1) {
    const answer = await postForm(url, fields)
    if (answer.status !== 503 || attempt === timeoutMs) return answer
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

/** Posts many forms at the same moment, spread over servers; answers come in the order of the forms. */
export const postAtOnce = (
  origins: readonly string[],
  path: string,
  forms: readonly Readonly<Record<string, string>>[],
): Promise<Answer[]> =>
  Promise.all(forms.map((fields, index) => insist(origins[index % origins.length] + path, fields)))

/** Answers by what they say, with how often. */
export const tally = (answers: readonly Answer[]): Record<string, number> => {
  const counts: Record<string, number> = {}
  for (const { status, body } of answers) {
    const key = `${status} ${body.error ?? 'ok'}`
    counts[key] = (counts[key] ?? 0) + 1
  }
  return counts
}

export const successesOf = (answers: readonly Answer[]): Answer['body'][] =>
  answers.filter(({ status }) => status === 200).map(({ body }) => body)
