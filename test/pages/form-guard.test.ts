import { allSamples, createViews, look } from '../support/views.ts'

const views = createViews({ pages: look({ name: 'Acme' }), basePath: '/oauth' })

interface Form {
  readonly sample: string
  readonly html: string
}

const pages = allSamples.map(({ name, page, model }) => ({ name, html: views.render(page, model as never) }))
const formsOf = (html: string): string[] => html.match(/<form\b[^>]*\bmethod="post"[\s\S]*?<\/form>/g) ?? []
/** Two forms decide nothing: one asks for a password, and the other brings an answer to a client by itself. */
const isOther = (form: string): boolean => /name="password"|id="form-post"/.test(form)
const forms: Form[] = pages.flatMap(({ name, html }) =>
  formsOf(html)
    .filter((form) => !isOther(form))
    .map((form) => ({ sample: name, html: form })),
)
const tagsIn = (html: string, name: string): string[] =>
  html.match(new RegExp(`<${name}\\b[^>]*>`, 'g')) ?? []
const isSubmit = (button: string): boolean => !button.includes('type="button"')

describe('every page with a form that is posted', () => {
  test('is guarded against held keys and second clicks, and no other page loads the guard (M3)', () => {
    const guard =
      /<script src="\/oauth\/assets\/decision\.js[^"]*"><\/script>[\s\S]*<output id="again" data-text="Press the button/
    const wrong = pages.filter(({ html }) => guard.test(html) !== formsOf(html).length > 0)
    expect(wrong.map(({ name }) => name)).toEqual([])
    // The layout does it, so that templates of features and of hosts have it too.
    expect(new Set(forms.map(({ sample }) => sample)).size).toBeGreaterThan(30)
  })

  test('has no button that the fragment of a link can give the focus (M3)', () => {
    const named = forms.filter(({ html }) =>
      tagsIn(html, 'button').some((button) => isSubmit(button) && /\bid=/.test(button)),
    )
    expect(named.map(({ sample }) => sample)).toEqual([])
  })

  test('sends nothing at Enter in a field, unless another field must be filled in first (M3)', () => {
    const open = forms.filter(({ html }) => {
      const fields = tagsIn(html, 'input').filter(
        (input) => /\bid=/.test(input) && !input.includes('"hidden"'),
      )
      const mustBeTyped = fields.some((input) => /\srequired\b/.test(input) && !/\bvalue="[^"]/.test(input))
      const [first = ''] = tagsIn(html, 'button').filter(isSubmit)
      return (
        fields.length > 0 &&
        !mustBeTyped &&
        first !== '' &&
        !/formmethod="dialog" hidden|value="search"/.test(first)
      )
    })
    // A search decides nothing. The code that a device shows may come with the link; a page that is guarded asks before anything is decided.
    expect(open.map(({ sample }) => sample)).toEqual(['device-filled', 'device-wrong', 'device-throttled'])
  })
})
