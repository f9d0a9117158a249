// The panel of the preview: tries a look in every frame, finds states, and measures them.
const byId = (id) => document.getElementById(id)
const { token, tags } = document.documentElement.dataset
const figures = [...document.querySelectorAll('figure')]
const frameOf = (figure) => figure.querySelector('iframe')

// The look

const ask = async (method, path, body) => {
  const response = await fetch(`/studio/${path}`, { method, headers: { 'X-Latchkey-Studio': token }, body })
  const answer = await response.json()
  byId('said').textContent = answer.error ?? ''
  byId('said').className = answer.error ? 'bad' : ''
  return answer.error ? undefined : answer
}

let turn = 0
/** Loads the stylesheets of a page again; what is said there stays. */
const restyle = (page) => {
  for (const link of page?.querySelectorAll('link[rel=stylesheet]') ?? [])
    link.href = `${link.href.split('?')[0]}?turn=${turn}`
}
/** Forgets what was measured, and measures again when the look has rested for a moment. */
let rested
const forget = () => {
  clearTimeout(rested)
  rested = setTimeout(measureVisible, 400)
  for (const figure of figures) figure.querySelector('output').replaceChildren()
  byId('checked').textContent = ''
}
const show = (isWhole) => {
  turn += 1
  forget()
  for (const figure of figures) {
    const { contentWindow, contentDocument } = frameOf(figure)
    if (contentDocument?.URL === 'about:blank') continue
    if (isWhole) contentWindow.location.reload()
    else restyle(contentDocument)
  }
}
const change = async (look, isWhole = false) => {
  if (await ask('POST', 'look', JSON.stringify(look))) show(isWhole)
}

/** One change after the other; of those that wait only the last one counts. */
let waiting
let isBusy = false
const soon = async (look) => {
  waiting = { ...waiting, ...look }
  if (isBusy) return
  isBusy = true
  while (waiting) {
    const next = waiting
    waiting = undefined
    await change(next)
  }
  isBusy = false
}

byId('accent').addEventListener('input', ({ target }) => soon({ accent: target.value }))
byId('radius').addEventListener('input', ({ target }) => soon({ radius: Number(target.value) }))
// The colours that a page tells the browser and its logo change, too.
document
  .querySelector('[name=brand-scheme]')
  .addEventListener('change', ({ target }) => change({ scheme: target.value }, true))
for (const kind of ['logo', 'font']) {
  byId(kind).addEventListener('change', async ({ target }) => {
    const [file] = target.files
    if (file && (await ask('PUT', `${kind}?name=${encodeURIComponent(file.name)}`, file))) show(true)
  })
  document.querySelector(`[data-remove=${kind}]`).addEventListener('click', async () => {
    byId(kind).value = ''
    if (await ask('DELETE', kind)) show(true)
  })
}

// Writing

let shown
byId('plan').addEventListener('click', async () => {
  const plan = await ask('POST', 'plan')
  if (!plan) return
  shown = plan.after
  const lines = plan.diff.map(({ mark, text }) => {
    const line = document.createElement('span')
    line.className = { '+': 'added', '-': 'removed' }[mark] ?? ''
    line.textContent = `${mark} ${text}\n`
    return line
  })
  byId('diff').replaceChildren(...lines)
  byId('copies').textContent = plan.copies ? `${plan.copies} files are copied to branding/.` : ''
  byId('dialog').showModal()
})
byId('write').addEventListener('click', async () => {
  const done = await ask('POST', 'write', JSON.stringify({ after: shown }))
  byId('dialog').close()
  if (!done) return
  const add = done.lines.length > 0 ? ` Add to your configuration: ${done.lines.join(' … ')}` : ''
  byId('said').textContent = `Wrote ${done.written.join(', ')}.${add} Then restart your app.`
})

// Finding states

byId('find').addEventListener('input', ({ target }) => {
  const words = target.value.trim().toLowerCase()
  for (const figure of figures) figure.hidden = !figure.dataset.name.includes(words)
  for (const section of document.querySelectorAll('main > section'))
    section.hidden = !section.querySelector('figure:not([hidden])')
})

// Measuring, in a frame of its own that is 320 px wide

const measure = byId('measure')
const open = (path) =>
  new Promise((resolve) => {
    measure.addEventListener('load', () => resolve(measure.contentDocument), { once: true })
    measure.contentWindow.location.replace(path)
  })

const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true })
/** The colour that is seen when the colours are laid over each other, the first at the bottom. */
const blend = (colours) => {
  canvas.clearRect(0, 0, 1, 1)
  for (const colour of colours) {
    canvas.fillStyle = colour
    canvas.fillRect(0, 0, 1, 1)
  }
  return [...canvas.getImageData(0, 0, 1, 1).data.slice(0, 3)]
}
/** Relative luminance (WCAG 2.2). */
const luminance = (channels) => {
  const [red, green, blue] = channels
    .map((value) => value / 255)
    .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4))
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}
const isSeen = (element) =>
  element.checkVisibility({ checkVisibilityCSS: true, opacityProperty: true }) && !element.closest('.unseen')

const textsIn = (page) => {
  const walker = page.createTreeWalker(page.body, NodeFilter.SHOW_TEXT)
  const found = []
  for (let node = walker.nextNode(); node; node = walker.nextNode())
    if (node.data.trim() !== '' && isSeen(node.parentElement)) found.push(node)
  return found
}

const contrastOf = (page, element) => {
  const view = page.defaultView
  const fills = []
  for (let each = element; each; each = each.parentElement)
    fills.unshift(view.getComputedStyle(each).backgroundColor)
  const below = ['Canvas', ...fills]
  const [dark, light] = [blend(below), blend([...below, view.getComputedStyle(element).color])]
    .map(luminance)
    .sort((one, other) => one - other)
  return (light + 0.05) / (dark + 0.05)
}

const lowestContrast = (page) =>
  Math.min(21, ...new Set(textsIn(page).map(({ parentElement }) => contrastOf(page, parentElement))))

/** Whether words run off the page, or a box cuts them off. */
const isCut = (page) => {
  const { clientWidth, scrollWidth } = page.documentElement
  if (scrollWidth > clientWidth) return true
  const isBeyond = ({ left, right, width }) => width > 0 && (left < -1 || right > clientWidth + 1)
  return textsIn(page).some((node) => {
    const range = page.createRange()
    range.selectNodeContents(node)
    if ([...range.getClientRects()].some(isBeyond)) return true
    const parts = 'button, a, li, p, h1, h2, h3, dd, dt, summary, label, code, main'
    const box = node.parentElement.closest(parts) ?? node.parentElement
    const { overflowX, overflowY } = page.defaultView.getComputedStyle(box)
    if (overflowX === 'visible' && overflowY === 'visible') return false
    return box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 1
  })
}

const badge = (text, isBad) => {
  const mark = document.createElement('span')
  mark.textContent = text
  if (isBad) mark.className = 'bad'
  return mark
}

/** Measures a state; undefined if the look changed meanwhile. */
const check = async (figure) => {
  const began = turn
  const { name, operators } = figure.dataset
  const [, shownIn] = frameOf(figure).dataset.src.split('/')
  const others = operators === undefined ? tags.split(' ').filter((tag) => tag !== shownIn) : []
  const cut = []
  let lowest = 21
  for (const tag of [shownIn, ...others]) {
    const page = await open(`/${tag}/${name}`)
    if (began !== turn) return undefined
    for (const details of page.querySelectorAll('details')) details.open = true
    if (tag === shownIn) lowest = lowestContrast(page)
    if (isCut(page)) cut.push(tag)
  }
  const contrast = (Math.floor(lowest * 10) / 10).toFixed(1)
  const marks = [badge(`${contrast} : 1`, lowest < 4.5)]
  if (cut.length > 0) marks.push(badge(`cut: ${cut.join(', ')}`, true))
  figure.querySelector('output').replaceChildren(...marks)
  return lowest < 4.5 || cut.length > 0
}

const queue = new Set()
const visible = new Set()
let isChecking = false
const work = async () => {
  if (isChecking) return
  isChecking = true
  while (queue.size > 0) {
    const [figure] = queue
    const began = turn
    await check(figure).catch((error) => {
      figure.querySelector('output').replaceChildren(badge(String(error), true))
    })
    if (began === turn) queue.delete(figure)
  }
  isChecking = false
}
let isAll = false
const measureVisible = () => {
  // What is out of view by now can wait until it is in view again.
  if (!isAll) queue.clear()
  for (const figure of visible) if (figure.querySelector('output').childElementCount === 0) queue.add(figure)
  work()
}
/** A frame loads when it comes near the view: a browser's own lazy loading begins far too early for so many. */
const load = (frame) => {
  if (!frame.src) frame.src = frame.dataset.src
}
const inView = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) {
      if (isIntersecting) {
        visible.add(target)
        load(frameOf(target))
      } else visible.delete(target)
    }
    measureVisible()
  },
  { rootMargin: '300px' },
)
for (const figure of figures) inView.observe(figure)

byId('check').addEventListener('click', async () => {
  isAll = true
  for (const figure of figures) queue.add(figure)
  const said = byId('checked')
  work()
  while (queue.size > 0) {
    said.textContent = `${figures.length - queue.size} of ${figures.length}`
    await new Promise((done) => setTimeout(done, 200))
  }
  isAll = false
  const bad = figures.filter((figure) => figure.querySelector('output .bad')).length
  said.textContent = bad === 0 ? 'Every state is readable, and no text is cut.' : `${bad} states need a look.`
})
