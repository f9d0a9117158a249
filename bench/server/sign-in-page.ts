/** A minimal sign-in page, for servers without one. */
export const signInPage = (action: string): string =>
  `<form method="post" action="${action}"><input name="username"><input name="password" type="password"></form>`

/** A minimal consent page. */
export const consentPage = (action: string): string =>
  `<form method="post" action="${action}"><button name="decision" value="allow">Allow</button></form>`
