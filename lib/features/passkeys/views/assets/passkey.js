// Asks the browser for a passkey and sends its answer with the form (WebAuthn): to sign in, or to add a passkey. The pages
// work without this file, but only with passwords.
addEventListener('DOMContentLoaded', async () => {
  const [field, button, hint, unsupported] = ['passkey', 'use-passkey', 'passkey-hint', 'no-passkey'].map(
    (id) => document.getElementById(id),
  )
  if (!field) return
  if (!window.PublicKeyCredential) {
    button.hidden = true
    return
  }
  const bytes = (text) =>
    Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (character) =>
      character.charCodeAt(),
    )
  const text = (buffer) =>
    btoa(String.fromCharCode(...new Uint8Array(buffer)))
      .replaceAll('+', '-')
      .replaceAll('/', '_')
      .replaceAll('=', '')
  const publicKey = JSON.parse(field.dataset.options)
  const { user, rp, excludeCredentials = [], allowCredentials = [] } = publicKey
  // Password managers then hide passkeys that were removed here.
  if (user)
    PublicKeyCredential.signalAllAcceptedCredentials?.({
      rpId: rp.id,
      userId: user.id,
      allAcceptedCredentialIds: excludeCredentials.map(({ id }) => id),
    }).catch(() => {})
  publicKey.challenge = bytes(publicKey.challenge)
  for (const named of [...excludeCredentials, ...allowCredentials]) named.id = bytes(named.id)
  if (user) user.id = bytes(user.id)

  let running = new AbortController()
  const ask = async (mediation) => {
    running.abort()
    running = new AbortController()
    hint.textContent = ''
    const { signal } = running
    try {
      const credentials = navigator.credentials
      const { id, response } = await (user
        ? credentials.create({ publicKey, signal })
        : credentials.get({ publicKey, signal, mediation }))
      const answer = { transports: response.getTransports?.() }
      for (const name of [
        'clientDataJSON',
        'attestationObject',
        'authenticatorData',
        'signature',
        'userHandle',
      ])
        if (response[name]) answer[name] = text(response[name])
      field.value = JSON.stringify({ id, response: answer })
      for (const password of field.form.querySelectorAll('[type=password]')) password.value = ''
      HTMLFormElement.prototype.submit.call(field.form)
    } catch {
      if (!signal.aborted && !mediation) hint.textContent = hint.dataset.text
    }
  }
  button.classList.remove('awaited')
  if (unsupported) unsupported.hidden = true
  button.addEventListener('click', () => ask())
  if (!user && (await PublicKeyCredential.isConditionalMediationAvailable?.())) ask('conditional')
})
