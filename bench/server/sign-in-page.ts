/** What a server without pages of its own shows: as little as signs somebody in. */
export const signInPage = (action: string): string =>
  `<form method="post" action="${action}"><input name="username"><input name="password" type="password"></form>`
