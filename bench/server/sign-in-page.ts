/** The sign-in page of a server that brings none: as little as works. */
export const signInPage = (action: string, client = ''): string =>
  `<p>${client}</p><form method="post" action="${action}"><input name="username"><input name="password" type="password"></form>`

/** Its consent page, likewise. */
export const consentPage = (action: string, client: string): string =>
  `<p>${client}</p><form method="post" action="${action}"><button name="decision" value="allow">Allow</button></form>`
