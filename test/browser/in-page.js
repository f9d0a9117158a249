// Runs in the pages under test, in Chromium: what a person could see, press and lose there.
globalThis.inPage = (() => {
  const round = (value) => Math.round(value * 10) / 10
  const nameOf = (element) => {
    const id = element.id ? `#${element.id}` : ''
    const classes =
      typeof element.className === 'string' ? element.className.trim().replaceAll(/\s+/g, '.') : ''
    return `${element.localName}${id}${classes ? `.${classes}` : ''}`
  }
  const quote = (text) => `“${text.trim().slice(0, 24)}”`

  /** What only screen readers are told is no part of what is looked at. */
  const isSeen = (element) =>
    element.checkVisibility({ checkVisibilityCSS: true }) && element.closest('.unseen') === null
  const controls = () =>
    [...document.querySelectorAll('a[href], button, input, select, textarea, summary')].filter(
      (control) => isSeen(control) && !control.disabled,
    )

  /** Of several radio buttons Tab reaches one, and the arrows the others. */
  const stopOf = (control) => {
    if (!control.matches('[type=radio]')) return control
    const group = [...control.form.elements].filter(
      ({ name, type }) => type === 'radio' && name === control.name,
    )
    return group.find(({ checked }) => checked) ?? group[0]
  }
  const stops = () => controls().filter((control) => stopOf(control) === control)

  /** A long name shows its first lines; a screen reader hears all of it. */
  const isClamped = (element) => getComputedStyle(element).webkitLineClamp !== 'none'
  const isBelow = (rect, element) =>
    isClamped(element) && rect.bottom > element.getBoundingClientRect().bottom + 1

  const textRects = () => {
    const found = []
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const parent = node.parentElement
      if (node.data.trim() === '' || !isSeen(parent)) continue
      const range = document.createRange()
      range.selectNodeContents(node)
      for (const rect of range.getClientRects())
        if (rect.width > 0.5 && rect.height > 0.5 && !isBelow(rect, parent))
          found.push({ node, parent, rect })
    }
    return found
  }

  /** How deep two rectangles lie in each other; at most 0 where they do not. */
  const depth = (one, other) =>
    Math.min(
      Math.min(one.right, other.right) - Math.max(one.left, other.left),
      Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top),
    )
  const holds = (outer, inner) =>
    inner.left >= outer.left - 1 &&
    inner.right <= outer.right + 1 &&
    inner.top >= outer.top - 1 &&
    inner.bottom <= outer.bottom + 1

  const boxes =
    'button, a.button, li, dl > div, .account, .alert, .notice, .tag, .disc, fieldset, .card, footer'

  /** What runs off the page, is cut off, or lies over something else. */
  const layoutFaults = () => {
    const faults = []
    const { clientWidth, scrollWidth } = document.documentElement
    if (scrollWidth > clientWidth) faults.push(`scrolls sideways: ${scrollWidth} of ${clientWidth}`)
    for (const element of document.body.querySelectorAll('*')) {
      if (!isSeen(element)) continue
      const rect = element.getBoundingClientRect()
      if (rect.width === 0) continue
      if (rect.left < -0.5 || rect.right > clientWidth + 0.5)
        faults.push(`${nameOf(element)} is beyond the edge`)
      const { overflowX, overflowY } = getComputedStyle(element)
      if (overflowX === 'visible' && overflowY === 'visible') continue
      if (element.matches('input, textarea, svg, svg *, img') || isClamped(element)) continue
      if (element.scrollWidth > element.clientWidth + 1 || element.scrollHeight > element.clientHeight + 1)
        faults.push(`${nameOf(element)} cuts off what it holds`)
      // What is moved beyond the start is no reason to scroll.
      for (const tag of element.querySelectorAll('.tag'))
        if (isSeen(tag) && !holds(rect, tag.getBoundingClientRect()))
          faults.push(`${nameOf(element)} cuts off a tag`)
    }
    const texts = textRects()
    for (const { node, parent, rect } of texts) {
      const box = parent.closest(boxes)
      if (box && !holds(box.getBoundingClientRect(), rect))
        faults.push(`${quote(node.data)} runs out of ${nameOf(box)}`)
    }
    for (const [index, one] of texts.entries())
      for (const other of texts.slice(index + 1)) {
        // Boxes of glyphs are higher than letters, so lines may share a few pixels of them.
        const limit = Math.min(one.rect.height, other.rect.height) / 3
        if (one.node !== other.node && depth(one.rect, other.rect) > limit)
          faults.push(`${quote(one.node.data)} lies over ${quote(other.node.data)}`)
      }
    const pressed = controls()
    // Show lies inside the field that it shows.
    const isInside = (one, other) => other.getAttribute('aria-controls') === one.id && one.id !== ''
    for (const [index, one] of pressed.entries())
      for (const other of pressed.slice(index + 1).filter((later) => !isInside(one, later)))
        for (const rect of one.getClientRects())
          for (const beside of other.getClientRects())
            if (depth(rect, beside) > 1) faults.push(`${nameOf(one)} and ${nameOf(other)} overlap`)
    return [...new Set(faults)]
  }

  const rectOf = (node) => {
    const range = document.createRange()
    range.selectNodeContents(node)
    return range.getBoundingClientRect()
  }

  /** Whether an element is more than a text for screen readers. */
  const isShown = (element) => isSeen(element) && element.getBoundingClientRect().width > 1

  /** Around the words of a node that are looked at. */
  const rectOfWords = (node) => {
    const rects = textRects().filter(({ node: text }) => node.contains(text))
    const edge = (side, most) => most(...rects.map(({ rect }) => rect[side]))
    return rects.length === 0
      ? rectOf(node)
      : {
          left: edge('left', Math.min),
          right: edge('right', Math.max),
          top: edge('top', Math.min),
          bottom: edge('bottom', Math.max),
        }
  }

  /** Whether nothing is between what stands in one line. */
  const isClose = (before, node) => {
    const [one, other] = [rectOfWords(before), rectOfWords(node)]
    const isBeside = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top) > 4
    return isBeside && Math.max(other.left - one.right, one.left - other.right) < 2
  }

  /** Words that touch: a flex container drops the space between them, or a link has none before it. */
  const lostSpaces = () =>
    [...document.body.querySelectorAll('*')].filter(isSeen).flatMap((element) => {
      const isFlex = getComputedStyle(element).display.endsWith('flex')
      const said = [...element.childNodes].filter(
        (node) => node.textContent.trim() !== '' && (node.nodeType === Node.TEXT_NODE || isShown(node)),
      )
      return said.slice(1).flatMap((node, index) => {
        const before = said[index]
        const between = document.createRange()
        between.setStartAfter(before)
        between.setEndBefore(node)
        const isSpaced = /\s$/.test(before.textContent + between) || /^\s/.test(node.textContent)
        // Chinese and Japanese have no spaces.
        const isGlued =
          /[\p{L}\p{N}]$/u.test(before.textContent) &&
          /^[\p{L}\p{N}]/u.test(node.textContent) &&
          !/[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}]$/u.test(before.textContent)
        const isLost = isSpaced ? isFlex : isGlued && [before, node].some((each) => each.localName === 'a')
        return isLost && isClose(before, node)
          ? [`${quote(before.textContent)} touches ${quote(node.textContent)}`]
          : []
      })
    })

  /** Words that a line breaks in two, although they are no longer than words are. */
  const brokenWords = () => {
    const found = []
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const parent = node.parentElement
      if (!isSeen(parent) || parent.closest('code, pre, .code')) continue
      for (const { 0: word, index } of node.data.matchAll(/[^\s\u00ad-]+/gu)) {
        // Addresses break anywhere, and Japanese has no spaces.
        const isOther = /[./:@_]./.test(word) || /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}]/u.test(word)
        if (word.length > 24 || isOther) continue
        const range = document.createRange()
        range.setStart(node, index)
        range.setEnd(node, index + word.length)
        const lines = new Set([...range.getClientRects()].map(({ bottom }) => Math.round(bottom)))
        if (lines.size > 1) found.push(`${nameOf(parent)} breaks ${quote(word)}`)
      }
    }
    return found
  }

  /** How high what a finger presses is: of a box with a label its label too, of a link each of its lines. */
  const targetHeight = (control) =>
    control.labels?.length > 0
      ? Math.max(...[control, ...control.labels].map((element) => element.getBoundingClientRect().height))
      : Math.min(...[...control.getClientRects()].map(({ height }) => height))

  /** Buttons, fields and links that are smaller than a finger can press. */
  const smallTargets = () =>
    controls().flatMap((control) => {
      const height = targetHeight(control)
      const least = control.matches('a:not(.button)') ? 24 : 44
      return height >= least ? [] : [`${nameOf(control)} is ${round(height)} high`]
    })

  /** All that can be read, for comparing before and after. */
  const words = () =>
    textRects()
      .map(({ node }) => node)
      .filter((node, index, all) => all.indexOf(node) === index)
      .map((node) => node.data.trim())

  /** What a style of the reader's own does to the page: what is lost, and faults that were not there before. */
  const faultsWith = (css) => {
    const before = words()
    const style = document.createElement('style')
    style.textContent = css
    document.head.append(style)
    const after = words()
    const lost = before.filter((text) => !after.includes(text)).map((text) => `${quote(text)} is lost`)
    const faults = [...lost, ...layoutFaults()]
    style.remove()
    return faults
  }

  const context = document.createElement('canvas').getContext('2d', { willReadFrequently: true })
  const channels = (color) => {
    context.clearRect(0, 0, 1, 1)
    context.fillStyle = color
    context.fillRect(0, 0, 1, 1)
    return [...context.getImageData(0, 0, 1, 1).data]
  }
  /** Relative luminance (WCAG 2.2). */
  const luminance = (color) => {
    const [red, green, blue] = channels(color)
      .slice(0, 3)
      .map((value) => value / 255)
      .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
  }
  const contrast = (one, other) => {
    const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b)
    return round((light + 0.05) / (dark + 0.05))
  }
  /** The colour that lies behind what an element holds: its own and its parents', as far as they let through. */
  const behind = (element) => {
    const layers = []
    for (let at = element; at; at = at.parentElement) layers.unshift(getComputedStyle(at).backgroundColor)
    context.fillStyle = 'Canvas'
    context.fillRect(0, 0, 1, 1)
    for (const layer of layers) {
      context.fillStyle = layer
      context.fillRect(0, 0, 1, 1)
    }
    const [red, green, blue] = context.getImageData(0, 0, 1, 1).data
    return `rgb(${red} ${green} ${blue})`
  }

  /** Of what an element says, against what lies behind it. */
  const contrastOf = (selector) => {
    const element = document.querySelector(selector)
    return contrast(getComputedStyle(element).color, behind(element))
  }

  /** The control that has the focus, and how it shows; undefined where none has it. */
  const focus = () => {
    const element = document.activeElement
    if (!element || element === document.body) return undefined
    const style = getComputedStyle(element)
    const rect = element.getBoundingClientRect()
    const ring = style.outlineStyle === 'none' ? 0 : Number.parseFloat(style.outlineWidth)
    return {
      name: nameOf(element),
      number: stops().indexOf(stopOf(element)),
      ring,
      contrast: ring === 0 ? 0 : contrast(style.outlineColor, behind(element.parentElement)),
      isInView: rect.bottom > 0 && rect.top < innerHeight && rect.right > 0 && rect.left < innerWidth,
    }
  }

  /** Each control in turn: whose focus cannot be seen. To be called after a key, so that focus means the keyboard's. */
  const unseenFocus = () =>
    controls().flatMap((control) => {
      control.blur()
      const before = getComputedStyle(control).outlineStyle
      control.focus()
      const { name, ring, contrast: against } = focus() ?? {}
      if (name === undefined) return [`${nameOf(control)} takes no focus`]
      if (before !== 'none') return [`${name} looks focused when it is not`]
      return ring >= 2 && against >= 3
        ? []
        : [`${name} has a ring of ${ring} px with a contrast of ${against}`]
    })

  /** The controls as they are read: first a column of links beside the page, then line by line, each from where its line begins. */
  const readingOrder = () => {
    const isRightToLeft = getComputedStyle(document.body).direction === 'rtl'
    const places = stops().map((control, number) => {
      const [first] = control.getClientRects()
      const column = control.closest('nav')
      const isBeside = column !== null && getComputedStyle(column).position === 'absolute'
      return {
        number,
        isBeside,
        top: first.top,
        bottom: first.bottom,
        at: isRightToLeft ? -first.right : first.left,
      }
    })
    const isAbove = (one, other) => one.bottom <= other.top + 1
    return places
      .sort((one, other) =>
        one.isBeside !== other.isBeside
          ? other.isBeside - one.isBeside
          : isAbove(one, other)
            ? -1
            : isAbove(other, one)
              ? 1
              : one.at - other.at,
      )
      .map(({ number }) => number)
  }

  /** What had the focus after each key since the last call: when a key is let go, the page has moved and scrolled. */
  const trail = []
  addEventListener('keyup', () => trail.push(focus()), true)
  const takeTrail = () => trail.splice(0).filter((reached) => reached !== undefined)

  /** Settles when the control that asks for the focus has it, which may be after the page is loaded. */
  const focused = async () => {
    const wanted = document.querySelector('[autofocus]')
    while (wanted !== null && document.activeElement !== wanted)
      await new Promise((done) => requestAnimationFrame(done))
  }

  return {
    focused,
    layoutFaults,
    lostSpaces,
    brokenWords,
    smallTargets,
    faultsWith,
    contrastOf,
    focus,
    takeTrail,
    unseenFocus,
    readingOrder,
  }
})()
