// The list follows what is typed into the search. The page works without this file.
addEventListener('DOMContentLoaded', () => {
  const q = document.getElementById('q')
  // Longer than the pause between two keys of a quick typist.
  const pause = 150
  let waiting
  let asked
  const follow = async () => {
    asked?.abort()
    asked = new AbortController()
    const query = new URLSearchParams(new FormData(q.form))
    const answer = await fetch(`${q.form.action}?${query}`, { signal: asked.signal })
    // Whatever else happened is on the page that the button leads to.
    if (!answer.ok || answer.redirected) return
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html')
    const [count, found] = ['count', 'found'].map((id) => page.getElementById(id))
    if (!found) return
    document.getElementById('found').replaceWith(found)
    document.getElementById('count').textContent = count.textContent
  }
  q.addEventListener('input', () => {
    clearTimeout(waiting)
    waiting = setTimeout(() => follow().catch(() => {}), pause)
  })
})
